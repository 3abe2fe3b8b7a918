// second tier: package
// time limit: 180 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { packOnce } from '../support/packed.js'
import { run } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('the tutorial', { timeout: 150_000 })

test('each step of the tutorial prints what its page says, except for ports', async (t) => {
  const { folder: packed } = await packOnce(t.signal)
  const folder = join(packed, 'notes')
  mkdirSync(folder)
  // what `npm install caduceus` leaves there
  symlinkSync(join(packed, 'node_modules'), join(folder, 'node_modules'))
  const [port, view] = await freePorts()
  const page = readFileSync(inRoot('server/guide/tutorial.md'), 'utf8')
    .replaceAll(/\b3000\b/g, String(port))
    .replaceAll(/\b4000\b/g, String(view))
  const names: string[] = []
  for (const [, name = '', text = ''] of page.matchAll(
    /^`(\w+\.mjs)`:\n\n<!-- .* -->\n```js\n([\s\S]*?)^```$/gm,
  )) {
    writeFileSync(join(folder, name), text)
    names.push(name)
  }
  assert.equal(names, ['notes.mjs', 'server.mjs', 'client.mjs', 'break.mjs'])
  const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, text = '']) => ({
    kind,
    text,
  }))
  const lines = blocks.flatMap(({ kind, text }) => (kind === 'sh' ? text.trim().split('\n') : []))
  const prints = blocks.flatMap(({ kind, text }) => (kind === '' || kind === 'text' ? [text] : []))
  const [, server = '', list = '', add = '', client = '', broken = '', serve = '', call = '', ...more] = lines
  assert.equal([lines.length, more.length, prints.length], [8, 0, 2])
  // npx takes seconds to find what is there: the first line shows that it does
  const direct = (line: string) => line.replaceAll('npx caduceus', 'node_modules/.bin/caduceus')
  const say = (line: string) => run('sh', ['-c', direct(line)], folder, t.signal)

  const first = begin(t, server, folder)
  assert.match(await first.line(/^http:.*$/m), server.replace(/.*# /, ''))
  const listed = await run('sh', ['-c', list], folder, t.signal)
  assert.ok(listed.code === 0 && /add[\s\S]*break/.test(listed.output), listed.output)
  assert.match((await say(add)).output, /^1: buy tea$/m)
  const reports = (text: string): string => text.replaceAll(/report [\d.]+/g, 'report N')
  // the log of a client goes to standard error
  const printed = (line: string) => say(`${line} 2>/dev/null`)
  const said = await printed(client)
  assert.equal([said.code, reports(said.output)], [0, reports(prints[0] ?? '')])
  assert.equal(await printed(broken), { code: 0, output: prints[1] })

  assert.match(page, /stop it with Ctrl-C/)
  await first.stop()
  const second = begin(t, `${direct(serve)} --http ${port}`, folder)
  const shown = await second.line(/is served at (\S+)[\s\S]*shown at (\S+)\n/)
  const [, served, address = ''] = /served at (\S+)[\s\S]*shown at (\S+)/.exec(shown) ?? []
  assert.is(served, `http://127.0.0.1:${port}/mcp`)
  assert.is(new URL(address).port, String(view))
  assert.is((await fetch(address)).status, 200)
  const failed = await say(call)
  assert.match(failed.output, /report [\d.]+/)
  assert.match((await say(add)).output, /^1: buy tea$/m)
  await second.stop()
  const [, dev = ''] = /`(npx caduceus dev [^`]*)`/.exec(page) ?? []
  const third = begin(t, `${direct(dev)} --http ${port}`, folder)
  await third.line(/is served at/)
  assert.match((await say(add)).output, /^1: buy tea$/m)
  await third.stop()
})

test.run()

/** A line of the page that goes on until Ctrl-C, which a terminal sends to all that the line has started. */
function begin(t: TestContext, line: string, cwd: string) {
  const child: ChildProcess = spawn('sh', ['-c', line], { cwd, detached: true })
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // it has ended
    }
  }
  t.after(() => kill('SIGKILL'))
  const ended = once(child, 'close')
  let told = ''
  return {
    line: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        const look = (chunk: Buffer | string = ''): void => {
          told += chunk
          const found = pattern.exec(told)
          if (found !== null) resolve(found[0])
        }
        child.stdout?.on('data', look)
        child.stderr?.on('data', look)
        void ended.then(() => reject(new Error(`${line} has ended, and told: ${told}`)))
        look()
      }),
    async stop(): Promise<void> {
      kill('SIGINT')
      await ended
    },
  }
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()]
  const ports = await Promise.all(
    servers.map(async (server) => {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const address = server.address()
      return typeof address === 'object' && address !== null ? address.port : 0
    }),
  )
  for (const server of servers) server.close()
  return ports as [number, number]
}
