import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { type Client, http, startClient, stdio } from 'caduceus'
import { until } from 'caduceus/testing'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, environmentOf, newHome, program, serverFile } from './_caduceus.js'

const test = suite('caduceus serve', { timeout: 30_000 })
const library = pathToFileURL(inRoot('.t', 'index.js')).href

/** The text of a module with one tool that says `word`. */
function moduleText(word: string, tools = 'say'): string {
  return `import { defineServer, defineTool } from ${JSON.stringify(library)}
const say = defineTool({ name: 'say', run: () => ${JSON.stringify(word)} })
const more = defineTool({ name: 'more', run: () => 'more' })
export default defineServer({ name: 'module', version: '1.0.0', tools: [${tools}] })
`
}

/** A program that runs until the test ends: `line` waits for what it tells, `stop` sends SIGTERM and waits for the exit code. */
function begin(t: TestContext, args: readonly string[], home: string) {
  const child = spawn(process.execPath, [program, ...args], { cwd: home, env: environmentOf(home) })
  t.after(() => child.kill('SIGKILL'))
  let told = ''
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const line = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (chunk: string | Buffer = ''): void => {
        told += chunk
        const found = pattern.exec(told)
        if (found === null) return
        told = told.slice(found.index + found[0].length)
        child.stderr.off('data', look)
        resolve(found)
      }
      child.stderr.on('data', look)
      void ended.then(() => reject(new Error(`ended, and told: ${told}`)))
      look()
    })
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM')
    return ended
  }
  return { line, stop, child }
}

function connectTo(t: TestContext, url: string): Client {
  const client = startClient({ transport: http(url), logger: false })
  t.after(() => client.close())
  return client
}

const servedAt = /is served at (\S+)/

test('a module is served over standard input', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('hello'))
  const args = [program, 'serve', join(home, 'server.mjs'), '--stdio']
  const client = startClient({ transport: stdio({ command: process.execPath, args }), logger: false })
  t.after(() => client.close())
  assert.is((await client.callTool('say')).text, 'hello')
})

test('a module is served over HTTP, and SIGTERM ends it with 0', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('hello'))
  const { line, stop } = begin(t, ['serve', 'server.mjs', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  assert.match(url, /\/mcp$/)
  const client = connectTo(t, url)
  assert.is((await client.callTool('say')).text, 'hello')
  await client.close()
  assert.is(await stop(), 0)
})

test('several processes serve a module, and SIGHUP replaces them without losing a session', async (t) => {
  const home = newHome(t)
  const text = moduleText('').replace('run: () => ""', 'run: () => String(process.pid)')
  writeFileSync(join(home, 'server.mjs'), text)
  const { line, stop, child } = begin(t, ['serve', 'server.mjs', '--http', '0', '--processes', '2'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const first = (await client.callTool('say')).text
  assert.match(first, /^\d+$/)
  assert.is.not(first, String(child.pid))
  child.kill('SIGHUP')
  await until(async () => (await client.callTool('say')).text !== first, { timeout: 20_000 })
  assert.is(client.inspect().counts.sessions, 1)
  await client.close()
  assert.is(await stop(), 0)
})

test('what is no server is told in one line', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'odd.mjs'), 'export const one = 1\n')
  writeFileSync(join(home, 'broken.mjs'), 'export const = 1\n')
  writeFileSync(join(home, 'own.mjs'), `${moduleText('x')}export const options = { transport: {} }\n`)
  for (const [args, text] of [
    [['odd.mjs'], 'expected the default export to be what defineServer returns; it exports one'],
    [['broken.mjs'], 'broken.mjs cannot be loaded'],
    [['own.mjs', '--http', '0'], 'exports a transport in its options'],
    [['missing.json'], 'missing.json cannot be read (ENOENT)'],
  ] as const) {
    const { code, err } = await caduceus(t, ['serve', ...args], { home })
    assert.equal([code, err.includes(text), err.trim().split('\n').length], [2, true, 1], err)
  }
})

test('dev loads a changed module anew, and sessions go on', async (t) => {
  const home = newHome(t)
  const file = join(home, 'server.mjs')
  writeFileSync(file, moduleText('first'))
  const { line, stop } = begin(t, ['dev', 'server.mjs', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  assert.is((await client.callTool('say')).text, 'first')
  const changed = new Promise<void>((resolve) => {
    client.onNotification('notifications/tools/list_changed', () => resolve())
  })
  writeFileSync(file, moduleText('second', 'say, more'))
  await line(/is loaded anew/)
  await changed
  assert.is((await client.callTool('say')).text, 'second')
  assert.is((await client.listTools()).tools.length, 2)
  assert.is(client.inspect().counts.sessions, 1)
  writeFileSync(file, 'this is no module')
  await line(/stays as it was/)
  assert.is((await client.callTool('say')).text, 'second')
  await client.close()
  assert.is(await stop(), 0)
})

test("the servers of a host's file are one, and come and go with the file", async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  write({ one: entry, two: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
  assert.is((await names()).length, 8)
  let lists = 0
  client.onNotification('notifications/tools/list_changed', () => {
    lists += 1
  })
  write({ one: entry, three: entry })
  await line(/two has gone, three has come/)
  await until(async () => (await names()).includes('three__add') && !(await names()).includes('two__add'), {
    timeout: 10_000,
  })
  assert.ok(lists > 0)
  assert.is((await client.callTool('three__add', { a: 2, b: 2 })).text, '4')
  const { args, ...rest } = entry
  write({ one: { ...rest, args: [...args, '--changed'] }, three: entry })
  await line(/one has changed/)
  await until(
    async () => (await client.callTool('one__add', { a: 4, b: 4 }).catch(() => null))?.text === '8',
    {
      timeout: 10_000,
    },
  )
  writeFileSync(file, '{ broken')
  await line(/is no JSON.*all servers stay as they are/)
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
  assert.is(client.inspect().counts.sessions, 1)
  await client.close()
  assert.is(await stop(), 0)
  assert.ok(readFileSync(file, 'utf8').startsWith('{ broken'))
})

test.run()
