// second tier: time
// shares a process
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { gone, isAlive } from '../transports/_processes.js'
import { newHome } from './_caduceus.js'
import { begin, connectTo, servedAt } from './_serve.js'

const test = suite('servers that caduceus serve has started, at its end', { timeout: 30_000 })
const stubbornFile = fileURLToPath(new URL('./_stubborn-server.js', import.meta.url))

/** A program that serves a file with one server, whose process id is known. */
async function serving(t: TestContext, ...how: string[]) {
  const home = newHome(t)
  const entry = { command: process.execPath, args: [stubbornFile, home, ...how] }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry } }))
  const { line, child, ended } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const pid = Number((await client.callTool('one__pid')).text)
  t.after(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  assert.ok(isAlive(pid))
  return { home, child, pid, ended }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`one that ignores ${signal} does not outlive it`, async (t) => {
    const { child, pid, ended } = await serving(t, '--stays')
    child.kill(signal)
    assert.is(await ended, 0)
    await gone(pid)
  })

test('one that ends in order has the time to do so', async (t) => {
  const { home, child, pid, ended } = await serving(t)
  child.kill('SIGTERM')
  assert.is(await ended, 0)
  assert.ok(existsSync(join(home, 'ended')))
  await gone(pid)
})

test('a second signal ends it at once, and them', async (t) => {
  const { child, pid, ended } = await serving(t, '--stays')
  child.kill('SIGTERM')
  const again = setInterval(() => child.kill('SIGTERM'), 100)
  t.after(() => clearInterval(again))
  // null: one more came while it was ending
  assert.ok([143, null].includes(await ended))
  await gone(pid)
})

test.run()
