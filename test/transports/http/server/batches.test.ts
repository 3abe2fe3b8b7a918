import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer, subscribeServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { type Answer, RawClient } from '../../../server/_client.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'

const test = suite('answers to a batch', { timeout: 20_000 })
const revision = '2025-03-26'

function call(id: number, name: string): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }
}

function outcomes({ messages }: Answer): string[] {
  return messages.map(({ error }) => error?.message ?? 'result')
}

/** A server with a tool of long answers, and one that waits until it is let go. */
async function start(t: TestContext, limits: { messageBytes: number; pendingBytes: number }) {
  const gate: { open?: () => void } = {}
  const opened = new Promise<void>((resolve) => {
    gate.open = resolve
  })
  const tools = [
    defineTool({ name: 'long', run: () => 'x'.repeat(60_000) }),
    defineTool({ name: 'wait', run: () => opened.then(() => 'done') }),
  ]
  const server = await startServer(defineServer({ name: 'batches', version: '1', tools }), {
    transport: serveHttp({ limits }),
    logger: false,
  })
  t.after(() => server.stop())
  t.after(() => gate.open?.())
  return { server, letGo: () => gate.open?.() }
}

test('together they are no longer than one message', async (t) => {
  const { server } = await start(t, { messageBytes: 130_000, pendingBytes: 10_000_000 })
  const client = await new RawClient(t, server.url).open('raw', revision)
  const answer = await client.post([call(1, 'long'), call(2, 'long'), call(3, 'long'), call(4, 'long')])
  const full =
    'the request was carried out, but its answer finds no room: the answers to one batch may have 130000 bytes together (limits.messageBytes): send fewer calls in one'
  assert.is(answer.status, 200)
  assert.equal(outcomes(answer).sort(), ['result', 'result', full, full])
  assert.equal(answer.messages.map(({ id }) => id).sort(), [1, 2, 3, 4])
})

test('those that wait for the others count among what the listener holds', async (t) => {
  const { server, letGo } = await start(t, { messageBytes: 130_000, pendingBytes: 200_000 })
  const ended = heard<undefined>()
  t.after(
    subscribeServer('request', ({ type, tool }) => {
      if (type === 'stop' && tool === 'long') ended.add(undefined)
    }),
  )
  const client = await new RawClient(t, server.url).open('raw', revision)
  const batches = [1, 3, 5, 7].map((id) => client.post([call(id, 'long'), call(id + 1, 'wait')]))
  for (const _ of batches) await ended.next()
  // whatever ended before it is gathered by now
  await client.ask('ping')
  letGo()
  const told = (await Promise.all(batches)).flatMap(outcomes)
  assert.is(told.length, 8)
  assert.equal(
    told.filter((text) => text !== 'result').map((text) => /\(limits\.\w+\)/.exec(text)?.[0]),
    ['(limits.pendingBytes)'],
  )
  // what was held is given back
  assert.equal(outcomes(await client.post([call(9, 'long'), call(10, 'long')])), ['result', 'result'])
})

test.run()
