// time limit: 60 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import * as assert from 'uvu/assert'
import { RawClient } from '../server/_client.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('signals of the program of the page on deployment', { timeout: 30_000 })
const page = inRoot('.t', 'test', 'examples', 'guide', 'deployed.js')

/** The program of the page as systemd runs it, without what it prints and without its end. */
async function start(t: TestContext) {
  const [served = ''] = readFileSync(page, 'utf8').split('console.log(')
  const program = `${served}console.log(server.url)\n`
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-deployed-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...process.env, PORT: '0', HOSTS: '*', FOLDER: folder }
  // no file: whoever builds what is run removes those that have no source
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env,
    cwd: dirname(page),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  child.stderr.resume()
  const [url] = await once(createInterface(child.stdout), 'line')
  const { port } = new URL(url)
  return { child, exited: once(child, 'exit'), url: `http://127.0.0.1:${port}/mcp` }
}

test.slow('systemctl reload (SIGHUP) loses no call, and does not end it', async (t) => {
  const { child, url } = await start(t)
  const clients = await Promise.all(Array.from({ length: 4 }, () => new RawClient(t, url).open()))
  let isOver = false
  const calling = clients.map(async (client) => {
    let calls = 0
    for (; !isOver; calls += 1) assert.is(await client.text('hello'), 'hello')
    return calls
  })
  for (let hangUps = 0; hangUps < 5; hangUps += 1) {
    child.kill('SIGHUP')
    const [client] = clients
    for (let calls = 0; calls < 10; calls += 1) assert.is(await client?.text('hello'), 'hello')
  }
  isOver = true
  for (const calls of await Promise.all(calling)) assert.ok(calls > 5, String(calls))
  assert.equal([child.exitCode, child.signalCode], [null, null])
})

test('systemctl stop (SIGTERM) ends it with 0', async (t) => {
  const { child, exited } = await start(t)
  child.kill('SIGTERM')
  assert.equal(await exited, [0, null])
})

test.run()
