import * as assert from 'uvu/assert'
import { connect } from 'node:net'
import { defineTool, type ToolDefinition } from 'caduceus/server'
import { subscribeTransport } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { startTestServer } from './_servers.js'
import { posted } from './_stateless.js'

const test = suite('a port of a busy server', { timeout: 20_000 })
/** Who comes at once, and calls in flight that keep the server busy. */
const [coming, lanes] = [150, 24]

/** A tool that computes for 3 ms, and how often it has. */
function spinning(): { readonly tool: ToolDefinition; readonly counts: { calls: number } } {
  const counts = { calls: 0 }
  const tool = defineTool({
    name: 'spin',
    run() {
      const end = performance.now() + 3
      while (performance.now() < end);
      counts.calls += 1
      return 'done'
    },
  })
  return { tool, counts }
}

/** How many calls are served from the moment when many come until all of them are let in. */
async function served(
  t: TestContext,
  counts: { readonly calls: number },
  port: number,
  call: () => Promise<unknown>,
): Promise<number> {
  const state = { isOver: false, opened: 0, before: 0, after: 0 }
  const busy = Array.from({ length: lanes }, async () => {
    while (!state.isOver) await call()
  })
  while (counts.calls < 2 * lanes) await new Promise((resolve) => setImmediate(resolve))
  await new Promise<void>((resolve) => {
    t.after(
      subscribeTransport('connection', ({ type }) => {
        if (type === 'opened') state.opened += 1
        if (state.opened < coming) return
        state.after = counts.calls
        resolve()
      }),
    )
    state.before = counts.calls
    for (let at = 0; at < coming; at += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      t.after(() => void socket.destroy())
    }
  })
  state.isOver = true
  await Promise.all(busy)
  return state.after - state.before
}

test('who comes does not wait for a turn of work each, beside a session at full speed', async (t) => {
  const { tool, counts } = spinning()
  const { url, port = 0 } = await startTestServer(t, [tool])
  const client = await new RawClient(t, url).open()
  const calls = await served(t, counts, port, () => client.ask('tools/call', { name: 'spin', arguments: {} }))
  assert.ok(calls < coming / 2, `${calls} calls were served before ${coming} were let in`)
})

test('the same beside requests without a session', async (t) => {
  const { tool, counts } = spinning()
  const { url, port = 0 } = await startTestServer(t, [tool])
  const client = new RawClient(t, url)
  const { body, headers } = posted('tools/call', { name: 'spin', arguments: {} })
  const calls = await served(t, counts, port, () => client.post(body, headers))
  assert.ok(calls < coming / 2, `${calls} calls were served before ${coming} were let in`)
})

test.run()
