import * as assert from 'uvu/assert'
import { type Client, startClient } from 'caduceus/client'
import { type JsonRpcRequest, McpError } from 'caduceus/protocol'
import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import { scriptedServer, type ScriptedServer } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('wishes told again', { timeout: 15_000 })
const subscribing = 'resources/subscribe'
const busy = (): never => {
  throw new McpError(-32603, 'busy', { data: { retryable: true } })
}

interface Place {
  readonly clock: FakeClock
  readonly server: ScriptedServer
  readonly client: Client
  /** What the server does with a wish from now on. */
  answer: () => object | undefined
  /** Methods that wishes came with, since the last look. */
  readonly told: () => readonly string[]
}

/** A client that has subscribed to two resources and set a level, and whose connection has just been replaced. */
async function begin(t: TestContext, answer: Place['answer']): Promise<Place> {
  const clock = createFakeClock()
  let told: string[] = []
  const hear =
    (method: string) =>
    ({ params }: JsonRpcRequest): object | undefined => {
      told.push(String(params?.uri ?? method))
      return place.answer()
    }
  const server = scriptedServer({
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { logging: {}, resources: { subscribe: true }, tools: { listChanged: true } },
      serverInfo: { name: 'wished', version: '1' },
    }),
    [subscribing]: hear(subscribing),
    'logging/setLevel': hear('level'),
    'resources/unsubscribe': () => ({}),
  })
  const { transport } = server
  const backoff = { base: 1_000, cap: 8_000, random: () => 1 }
  const client = startClient({ transport, clock, backoff, timeout: 5_000, logger: false })
  t.after(() => client.close())
  const place: Place = {
    clock,
    server,
    client,
    answer: () => ({}),
    told: () => {
      const all = told
      told = []
      return all
    },
  }
  await client.subscribe('x:1')
  await client.subscribe('x:2')
  await client.setLevel('warning')
  assert.equal(place.told(), ['x:1', 'x:2', 'level'])
  place.answer = answer
  server.drop()
  const back = client.ready()
  await clock.advance(1_000)
  await back
  await client.ping()
  assert.equal(place.told(), ['level', 'x:1', 'x:2'])
  return place
}

/** Until what the server has answered by now has come. */
async function advance({ clock, client }: Place, ms: number): Promise<void> {
  await clock.advance(ms)
  await client.ping()
}

test('a wish refused by a busy server is told again after longer and longer pauses', async (t) => {
  const place = await begin(t, busy)
  await advance(place, 999)
  assert.equal(place.told(), [])
  await advance(place, 1)
  assert.equal(place.told(), ['level', 'x:1', 'x:2'])
  await advance(place, 1_999)
  assert.equal(place.told(), [])
  place.answer = () => ({})
  await advance(place, 1)
  assert.equal(place.told(), ['level', 'x:1', 'x:2'])
  await advance(place, 100_000)
  assert.equal(place.told(), [])
})

test('a wish that is not answered in time is told again', async (t) => {
  const place = await begin(t, () => undefined)
  await advance(place, 5_000)
  assert.equal(place.told(), [])
  place.answer = () => ({})
  await advance(place, 1_000)
  assert.equal(place.told(), ['level', 'x:1', 'x:2'])
})

test('a wish that is refused for good is told once in a connection', async (t) => {
  const place = await begin(t, () => {
    throw new McpError(-32002, 'no such resource')
  })
  await advance(place, 100_000)
  assert.equal(place.told(), [])
})

test('what nobody wishes any more is not told again', async (t) => {
  const place = await begin(t, busy)
  await place.client.unsubscribe('x:1')
  await advance(place, 1_000)
  assert.equal(place.told(), ['level', 'x:2'])
})

test('a new connection hears of each wish once', async (t) => {
  const place = await begin(t, busy)
  place.server.drop()
  place.answer = () => ({})
  const back = place.client.ready()
  await place.clock.advance(2_000)
  await back
  await advance(place, 100_000)
  assert.equal(place.told(), ['level', 'x:1', 'x:2'])
})

test('what changed between two connections is told once the new one tells of changes', async (t) => {
  const place = await begin(t, () => ({}))
  const heard: unknown[] = []
  place.client.onNotification('notifications/resources/updated', ({ uri }) => void heard.push(uri))
  place.client.onNotification('notifications/tools/list_changed', () => void heard.push('tools'))
  await place.clock.advance(0)
  assert.equal(heard, [])
  place.server.drop()
  place.answer = busy
  const back = place.client.ready()
  await place.clock.advance(2_000)
  await back
  // those that the server has not agreed to are not told of yet
  assert.equal(heard, ['tools'])
  place.answer = () => ({})
  await advance(place, 100_000)
  assert.equal(heard, ['tools', 'x:1', 'x:2'])
})

test.run()
