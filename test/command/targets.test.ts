// second tier: time
// shares a process
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { serveHttp, startServer } from 'caduceus'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, newHome, overStdio, program, serverFile } from './_caduceus.js'
import { definition } from './_server.js'

const test = suite('targets of the command', { timeout: 20_000 })

async function address(t: TestContext): Promise<string> {
  const server = await startServer(definition, { transport: serveHttp(), logger: false, signals: false })
  t.after(() => server.stop())
  return server.url ?? ''
}

test('an unreachable server is exit code 3, at once', async (t) => {
  const { code, err } = await caduceus(t, ['list', 'http://127.0.0.1:9/mcp'])
  assert.is(code, 3, err)
  const dead = await caduceus(t, ['list', '--', process.execPath, '-e', 'process.exit(7)'])
  assert.is(dead.code, 3, dead.err)
  assert.is(dead.err.trim().split('\n').length, 1, dead.err)
})

test('an error is one line, and --verbose shows where it comes from', async (t) => {
  const args = ['list', 'http://127.0.0.1:9/mcp?key=s3cret']
  const plain = await caduceus(t, args)
  assert.equal(plain.err.split('\n').length, 2, plain.err)
  const verbose = await caduceus(t, [...args, '--verbose'])
  assert.is(verbose.code, 3)
  assert.ok(verbose.err.includes(plain.err.trim()), verbose.err)
  assert.match(verbose.err, /\n {4}at /)
  assert.match(verbose.err, /because of /)
  assert.not.match(verbose.err, 's3cret')
  // what stands behind -- is for the server
  const theirs = await caduceus(t, [
    'list',
    '--',
    process.execPath,
    '-e',
    'process.exit(7)',
    '--verbose',
    '--json',
  ])
  assert.equal([theirs.out, theirs.err.trim().split('\n').length], ['', 1], theirs.err)
})

test('a key in the query of an address is in no error', async (t) => {
  const { code, err, out } = await caduceus(t, ['list', 'http://127.0.0.1:9/mcp?key=s3cret', '--json'])
  assert.is(code, 3)
  assert.not.match(err + out, 's3cret')
})

test('names such as constructor and toString are plain names', async (t) => {
  const home = newHome(t)
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the form that configurations have
  const wanting = { ...entry, env: { A: '${constructor}' } }
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the form that configurations have
  const asking = { ...entry, env: { A: '${input:valueOf}' } }
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ mcpServers: { wanting, asking } }))
  const wants = await caduceus(t, ['list', 'wanting'], { home })
  assert.equal([wants.code, wants.err.includes('needs the variable constructor')], [2, true], wants.err)
  const asks = await caduceus(t, ['list', 'asking'], { home })
  assert.equal([asks.code, asks.err.includes('give --input valueOf=VALUE')], [2, true], asks.err)
  const { code, out, err } = await caduceus(t, ['help', 'toString'], { home })
  assert.equal([code, out, err.includes('toString is no command')], [2, '', true], err)
})

test('a server that needs a login is exit code 4 and says how', async (t) => {
  const server = createServer((_request, response) => response.writeHead(401).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const { code, err } = await caduceus(t, ['list', url])
  assert.is(code, 4, err)
  assert.ok(err.includes('caduceus login'), err)
})

test(
  'a name is looked up in the files of hosts',
  async (t) => {
    const home = newHome(t)
    const url = await address(t)
    const write = (path: string, text: string) => {
      mkdirSync(join(home, path, '..'), { recursive: true })
      writeFileSync(join(home, path), text)
    }
    const command = JSON.stringify(process.execPath)
    write(
      '.mcp.json',
      `{ "mcpServers": { "claude": { "command": ${command}, "args": [${JSON.stringify(serverFile)}, "--stdio"] } } }`,
    )
    write(
      '.vscode/mcp.json',
      `{
    // where it is
    "inputs": [{ "id": "port", "type": "promptString", "description": "Port" },],
    "servers": { "code": { "type": "http", "url": "http://127.0.0.1:\${input:port}/mcp", /* no */ }, },
  }`,
    )
    write('.codeium/windsurf/mcp_config.json', `{ "mcpServers": { "surf": { "serverUrl": "${url}" } } }`)
    write('.gemini/settings.json', `{ "mcpServers": { "twins": { "httpUrl": "${url}" } } }`)
    write(
      '.cursor/mcp.json',
      `{ "mcpServers": { "off": { "url": "${url}", "disabled": true }, "unset": { "url": "\${NO_SUCH}" } } }`,
    )
    const all = await caduceus(t, ['list', '--json'], { home })
    const names = (JSON.parse(all.out).servers as { name: string }[]).map(({ name }) => name)
    assert.equal([...new Set(names)], ['claude', 'code', 'unset', 'twins', 'surf'])
    const port = new URL(url).port
    for (const args of [['claude'], ['code', '--input', `port=${port}`], ['surf'], ['twins']]) {
      const { code, err, out } = await caduceus(t, ['call', ...args, 'add', 'a=1', 'b=1'], { home })
      assert.equal([code, out], [0, '2\n'], err)
    }
    const asks = await caduceus(t, ['list', 'code'], { home })
    assert.equal([asks.code, asks.err.includes('give --input port=VALUE')], [2, true], asks.err)
    const unset = await caduceus(t, ['list', 'unset'], { home })
    assert.equal([unset.code, unset.err.includes('needs the variable NO_SUCH')], [2, true], unset.err)
  },
  { timeout: 40_000 },
)

test('a wrong entry of a file is told with its file, its name and what to do', async (t) => {
  const home = newHome(t)
  const url = 'http://127.0.0.1:9/mcp'
  const wrong: Readonly<Record<string, readonly [unknown, string]>> = {
    nothing: [null, 'expected a command or a url'],
    misspelled: [{ comand: 'node' }, 'expected a command or a url (did you mean "command"?)'],
    both: [{ command: 'node', url }, 'expected a command or a url, not both'],
    odd: [{ url, type: 'carrier pigeon' }, 'type: expected one of stdio, http,'],
    crossed: [{ url, type: 'stdio' }, 'type: "stdio" does not go with url'],
    listed: [{ command: 'node', env: [] }, 'env: expected an object of texts by name, got an array'],
    counted: [{ command: 'node', env: { PORT: 8080 } }, 'env.PORT: expected a string'],
    cut: [{ command: 'no\0de' }, 'command: expected a non-empty string without NUL'],
    split: [{ url: 'http://127.0.0.1:9/a b', headers: { 'a b': 'c' } }, 'headers'],
  }
  const mcpServers = Object.fromEntries(Object.entries(wrong).map(([name, [entry]]) => [name, entry]))
  writeFileSync(join(home, '.mcp.json'), JSON.stringify({ mcpServers }))
  for (const [name, [, problem]] of Object.entries(wrong)) {
    const { code, err } = await caduceus(t, ['list', name], { home })
    assert.is(code, 2, name)
    assert.match(err, `.mcp.json: ${name}: ${problem}`)
  }
})

test('a disabled server is told as such, and of two sections the first counts', async (t) => {
  const home = newHome(t)
  const entry = { command: process.execPath, args: ['-e', ''] }
  const host = { mcpServers: { off: { ...entry, disabled: true }, on: entry }, servers: { other: entry } }
  writeFileSync(join(home, '.mcp.json'), JSON.stringify(host))
  const { out, err } = await caduceus(t, ['list', '--json'], { home })
  assert.equal(
    JSON.parse(out).servers.map(({ name }: { name: string }) => name),
    ['on'],
  )
  assert.match(err, '.mcp.json has mcpServers and servers, too: servers is left out')
  const off = await caduceus(t, ['list', 'off'], { home })
  assert.equal([off.code, off.out], [2, ''])
  assert.match(off.err, /caduceus: off is disabled in \S+\.mcp\.json/)
})

test('the file of a host that is a pipe is told and waited for by nobody', async (t) => {
  const home = newHome(t)
  const path = join(home, '.mcp.json')
  assert.is(spawnSync('mkfifo', [path]).status, 0)
  for (const args of [['some'], ['some', '--config', path]]) {
    const { code, err } = await caduceus(t, ['list', ...args], { home })
    assert.is(code, 2)
    assert.match(err, /\.mcp\.json is no file/)
  }
})

test('the file of a host that has more than 64 MiB is told and not read', async (t) => {
  const home = newHome(t)
  const path = join(home, '.mcp.json')
  writeFileSync(path, '')
  truncateSync(path, 64 * 1024 * 1024 + 1)
  for (const args of [['some'], ['some', '--config', path]]) {
    const { code, err } = await caduceus(t, ['list', ...args], { home })
    assert.is(code, 2)
    assert.match(err, /\.mcp\.json has more than 67108864 bytes/)
  }
})

test('without a terminal the client declares no elicitation', async (t) => {
  assert.is((await caduceus(t, ['call', 'greet', ...overStdio])).out, 'nobody answered\n')
})

test('Ctrl-C ends a call with exit code 130, and the server with it', async (t) => {
  const silent = 'process.stdin.resume(); process.stderr.write("up\\n"); process.on("SIGINT", () => {})'
  const child = spawn(process.execPath, [program, 'list', '--verbose', '--', process.execPath, '-e', silent])
  t.after(() => child.kill('SIGKILL'))
  child.stderr.once('data', () => child.kill('SIGINT'))
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.is(code, 130)
})

test.run()
