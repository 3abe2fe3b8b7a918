// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http, stdio } from 'caduceus/transports'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { startPeer } from '../_peer.js'
import { rejection } from '../_raw.js'

const test = suite('calls while the event loop stands still')

const program = inRoot('.t', 'test', 'flows', 'gateway', '_upstream-program.js')
/** A server of few lines, in a process of its own: its answers come while ours cannot read. */
const over = {
  async http(t: TestContext) {
    const { origin } = await startPeer(t, { args: [program] })
    return http(`${origin}/mcp`)
  },
  stdio: () => stdio({ command: process.execPath, args: [program] }),
}

for (const [name, open] of Object.entries(over))
  test(`${name}: an answer that came while nobody could read is no TIMEOUT`, async (t) => {
    const client = startClient({ transport: await open(t), logger: false })
    t.after(() => client.close())
    // with a connection that is there
    await client.callTool('echo', { text: 'first' })
    const calls = Array.from({ length: 3 }, (_, n) =>
      client.callTool('echo', { text: `${n}` }, { timeout: 300 }),
    )
    // sent, and not yet answered
    await new Promise((resolve) => setImmediate(resolve))
    for (const end = performance.now() + 1_000; performance.now() < end; );
    assert.equal(
      (await Promise.all(calls)).map(({ text }) => text),
      calls.map((_, n) => `${n}`),
    )
    // what does not come is one
    const late = await rejection(client.callTool('hang', {}, { timeout: 100 }))
    assert.is(late.code, 'TIMEOUT')
  })

test.run()
