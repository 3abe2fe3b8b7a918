// second tier: time
import { EventEmitter } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { startServer } from 'caduceus/server'
import { serveHttp, serveSse, serveWebSocket } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { type Caller, connectCaller, makes, type Place } from './exchanges/_callers.js'
import { manyDefinition } from './_many.js'

// clients of others listen once for each call, which Node would warn of
EventEmitter.defaultMaxListeners = 0

const test = suite('many calls at once', { timeout: 60_000 })
const program = fileURLToPath(new URL('./_many-program.js', import.meta.url))
const listeners = { http: serveHttp, sse: serveSse, websocket: serveWebSocket }

for (const way of ['stdio', 'http', 'sse', 'websocket'] as const) {
  for (const make of makes) {
    // by HTTP the clients of others take their time with each connection
    const isSlow = make !== 'ours' && (way === 'http' || way === 'sse')
    for (const count of isSlow ? [100] : [100, 2_000]) {
      test(`${count} calls at once run 64 at a time, in order: ${make} over ${way}`, async (t) => {
        const client = await connectCaller(t, make, { way, place: await placeOf(t, way) })
        const places = await callAtOnce(client, count)
        assert.is(places.length, count)
        // by HTTP each call comes by a connection of its own, and these keep no order
        if (way === 'stdio' || way === 'websocket') assert.equal(places, [...places.keys()])
        else
          assert.equal(
            [...places].sort((a, b) => a - b),
            [...places.keys()],
          )
        assert.is(await client.call('seen'), '64')
      })
    }
  }
}

test('stdio reads a request beyond the limit later and refuses none', async (t) => {
  const limits = JSON.stringify({ requests: 2, waiting: 3 })
  for (const make of makes) {
    const place = { args: [program, '2', limits] }
    const client = await connectCaller(t, make, { way: 'stdio', place })
    const places = await callAtOnce(client, 300)
    assert.equal(places, [...places.keys()])
    assert.is(await client.call('seen'), '2')
  }
})

/** The place that each call had in the order in which they began. */
async function callAtOnce(client: Caller, count: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => client.call('turn', { n })))
  return answers.map((answer, n) => {
    const [own, place] = String(answer).split(' ').map(Number)
    assert.is(own, n)
    return Number(place)
  })
}

async function placeOf(t: TestContext, way: 'stdio' | keyof typeof listeners): Promise<Place> {
  if (way === 'stdio') return { args: [program] }
  const server = await startServer(manyDefinition(), { transport: listeners[way](), logger: false })
  t.after(() => server.stop())
  return { url: String(server.url) }
}

test.run()
