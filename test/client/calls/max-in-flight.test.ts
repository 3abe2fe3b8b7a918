import * as assert from 'uvu/assert'
import { startClient, startClientPool } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import {
  type ClientTransport,
  type LinkEvents,
  serveWebSocket,
  TransportError,
  websocket,
} from 'caduceus/transports'
import { type Heard, heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, watch } from '../_raw.js'

const test = suite('as many calls in flight as a client may have')

/** One connection: what it was sent besides the handshake, by method, and what the test tells. */
type Line = {
  readonly got: string[]
  readonly events: LinkEvents
  answer(method: string, answer?: object): void
  lose(method: string, error: TransportError): void
}

/** A server that answers pings at once, and calls when the test says so. */
function desk() {
  const lines: Line[] = []
  const got = heard<string>()
  const serverInfo = { name: 'desk', version: '1' }
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
  const transport: ClientTransport = {
    name: 'desk',
    connect(events) {
      const ids = new Map<string, string | number>()
      const idOf = (method: string): string | number => {
        const id = ids.get(method)
        if (id === undefined) throw new Error(`${method} has not come`)
        return id
      }
      const answerTo = (id: string | number, answer: object): void =>
        events.message(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
      const line: Line = {
        got: [],
        events,
        answer: (method, answer = { result: {} }) => answerTo(idOf(method), answer),
        lose: (method, error) => events.lost(idOf(method), error),
      }
      lines.push(line)
      events.opened()
      return {
        send(_, message) {
          const method = 'method' in message ? message.method : ''
          if (isRequest(message) && method === 'initialize') return answerTo(message.id, { result: greeting })
          if (method === 'notifications/initialized') return
          if (isRequest(message)) ids.set(method, message.id)
          line.got.push(method)
          got.add(method)
          if (isRequest(message) && method === 'ping') answerTo(message.id, { result: {} })
        },
        close: () => events.closed({}),
      }
    },
  }
  return { transport, lines, got }
}

/** A client of such a server that is ready. */
async function meet(t: TestContext, options: Partial<Parameters<typeof startClient>[0]> = {}) {
  const { transport, lines, got } = desk()
  const watched = watch(t, { transport, maxInFlight: 2, ...options })
  await watched.client.ready()
  const line = lines[0]
  if (line === undefined) throw new Error('there is no connection')
  return { ...watched, line, lines, got }
}

/** The next time that this is sent. */
const until = (got: Heard<string>, method: string): Promise<string> => got.next((one) => one === method)

test('maxInFlight bounds the calls at the server, served in order', async (t) => {
  const served: number[] = []
  const facts = { underWay: 0, most: 0 }
  let go = (): void => {}
  const three = new Promise<void>((resolve) => {
    go = resolve
  })
  const work = defineTool({
    name: 'work',
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    async run({ n }) {
      served.push(n as number)
      facts.underWay += 1
      facts.most = Math.max(facts.most, facts.underWay)
      if (facts.underWay === 3) go()
      await three
      for (let turn = 0; turn < (n as number) % 4; turn++) await new Promise(setImmediate)
      facts.underWay -= 1
      return `done ${n}`
    },
  })
  const definition = defineServer({ name: 'worker', version: '1', tools: [work] })
  const server = await startServer(definition, { transport: serveWebSocket(), logger: false })
  t.after(() => server.stop())
  const client = startClient({ transport: websocket(server.url ?? ''), maxInFlight: 3, logger: false })
  t.after(() => client.close())
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  // those of the first half are made before there is a connection
  const early = numbers.slice(0, 30).map((n) => client.callTool('work', { n }))
  await client.ready()
  const late = numbers.slice(30).map((n) => client.callTool('work', { n }))
  const results = await Promise.all([...early, ...late])
  assert.equal(
    results.map(({ text }) => text),
    numbers.map((n) => `done ${n}`),
  )
  assert.equal(served, numbers)
  assert.is(facts.most, 3)
  assert.equal([client.inspect().waiting, client.inspect().inFlight], [0, 0])
})

test('any answer, also a bad one or an error, lets the next call leave', async (t) => {
  const { client, line, got } = await meet(t)
  const calls = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => client.request(`x/${name}`))
  await client.ping()
  assert.equal(line.got, ['x/a', 'x/b', 'ping'])
  assert.equal([client.inspect().waiting, client.inspect().inFlight], [4, 2])
  line.answer('x/b')
  await until(got, 'x/c')
  line.answer('x/a', { error: { code: -32602, message: 'no' } })
  await until(got, 'x/d')
  line.answer('x/d', { result: null })
  await until(got, 'x/e')
  line.lose('x/c', new TransportError('BAD_RESPONSE', 'no'))
  await until(got, 'x/f')
  line.answer('x/e')
  line.answer('x/f')
  const outcomes = await Promise.allSettled(calls)
  assert.equal(
    outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : 'done')),
    [-32602, 'done', 'REQUEST_FAILED', 'INVALID_RESPONSE', 'done', 'done'],
  )
})

test('pings and notifications do not wait and take no slot', async (t) => {
  const { client, line, got } = await meet(t, { maxInFlight: 1 })
  const calls = [client.request('x/a'), client.request('x/b')]
  const pings = [client.ping(), client.ping()]
  await client.notify('notifications/x')
  await Promise.all(pings)
  await until(got, 'notifications/x')
  assert.equal(line.got, ['x/a', 'ping', 'ping', 'notifications/x'])
  line.answer('x/a')
  await calls[0]
  await client.ping()
  assert.equal(line.got.slice(4), ['x/b', 'ping'])
  line.answer('x/b')
  await calls[1]
})

test('calls made before the connection keep their order, and only calls need a slot', async (t) => {
  const { transport, lines, got } = desk()
  const { client } = watch(t, { transport, maxInFlight: 1 })
  const first = client.request('x/a')
  const second = client.request('x/b')
  await client.notify('notifications/x')
  await client.ping()
  assert.equal(lines[0]?.got, ['x/a', 'notifications/x', 'ping'])
  lines[0]?.answer('x/a')
  await first
  await until(got, 'x/b')
  lines[0]?.answer('x/b')
  await second
})

test('a waiting call that is aborted is not sent; one in flight frees its slot', async (t) => {
  const { client, line, got } = await meet(t, { maxInFlight: 1 })
  const controllers = ['a', 'b', 'c'].map(() => new AbortController())
  const [a, b, c] = controllers.map(({ signal }, index) =>
    rejection(client.request(`x/${'abc'[index]}`, {}, { signal })),
  )
  await client.ping()
  controllers[1]?.abort()
  const waited = await b
  assert.equal([waited?.code, waited?.data], ['CANCELLED', { sent: false }])
  await client.ping()
  controllers[0]?.abort()
  assert.equal((await a)?.data, { sent: true })
  await until(got, 'x/c')
  assert.equal(line.got, ['x/a', 'ping', 'ping', 'notifications/cancelled', 'x/c'])
  controllers[2]?.abort()
  await c
})

test('a waiting call that times out was not sent; one in flight frees its slot', async (t) => {
  const clock = createFakeClock()
  const { client, line, got } = await meet(t, { maxInFlight: 1, clock })
  const first = rejection(client.request('x/a', {}, { timeout: 2_000 }))
  const second = rejection(client.request('x/b', {}, { timeout: 1_000 }))
  const third = client.request('x/c', {}, { timeout: 5_000 })
  await client.ping()
  await clock.advance(1_100)
  const error = await second
  assert.equal([error.code, error.data, error.retryable], ['TIMEOUT', { sent: false }, true])
  assert.is(
    error.message,
    'x/b: not sent within 1000 ms (1 in flight already, as many as maxInFlight allows)',
  )
  await clock.advance(1_000)
  assert.equal((await first).data, { sent: true })
  await until(got, 'x/c')
  assert.equal(line.got, ['x/a', 'ping', 'notifications/cancelled', 'x/c'])
  line.answer('x/c')
  await third
})

test('progress extends a call, which keeps its slot', async (t) => {
  const clock = createFakeClock()
  const { client, line, got } = await meet(t, { maxInFlight: 1, clock })
  const options = { timeout: 1_000, totalTimeout: 9_000, resetOnProgress: true }
  const first = client.request('x/a', {}, options)
  const second = client.request('x/b', {}, { timeout: 9_000 })
  await client.ping()
  for (let progress = 1; progress <= 3; progress++) {
    await clock.advance(900)
    const params = { progressToken: 1, progress }
    line.events.message(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }))
    await client.ping()
  }
  assert.is(line.got.includes('x/b'), false)
  line.answer('x/a')
  await first
  await until(got, 'x/b')
  line.answer('x/b')
  await second
})

test('nothing is sent while closing; the next connection resends in order, in bounds', async (t) => {
  const { client, line, lines, got } = await meet(t)
  const told = rejection(client.request('x/a'))
  const again = client.listTools()
  const waiting = ['b', 'c', 'd'].map((name) => client.request(`x/${name}`))
  const impatient = rejection(client.request('x/e', {}, { wait: false }))
  await client.ping()
  assert.is(client.inspect().waiting, 4)
  line.events.closed({ error: new TransportError('CONNECTION_LOST', 'cut') })
  const lost = await told
  assert.equal([lost.code, lost.data], ['CONNECTION_LOST', { sent: true }])
  const turned = await impatient
  assert.equal([turned.code, turned.data], ['NOT_READY', { sent: false }])
  await until(got, 'x/b')
  await client.ping()
  assert.equal(line.got, ['x/a', 'tools/list', 'ping'])
  const next = lines[1]
  assert.equal(next?.got, ['tools/list', 'x/b', 'ping'])
  next?.answer('tools/list', { result: { tools: [] } })
  await until(got, 'x/c')
  next?.answer('x/b')
  await until(got, 'x/d')
  next?.answer('x/c')
  next?.answer('x/d')
  await Promise.all([again, ...waiting])
  assert.is(lines.length, 2)
})

test('nothing is sent while the server is unreachable or has forgotten the session', async (t) => {
  for (const code of ['CONNECT_FAILED', 'SESSION_NOT_FOUND', 'NOT_OPEN'] as const) {
    const { client, line, lines, got } = await meet(t, {
      maxInFlight: 1,
      backoff: { base: 1_000, cap: 1_000 },
    })
    const first = client.request('x/a')
    const second = client.request('x/b')
    const impatient =
      code === 'CONNECT_FAILED' ? rejection(client.request('x/c', {}, { wait: false })) : undefined
    await until(got, 'x/a')
    await client.ping()
    line.lose('x/a', new TransportError(code, 'not now'))
    if (code !== 'CONNECT_FAILED') {
      line.events.closed({
        error: new TransportError(code === 'NOT_OPEN' ? 'CONNECTION_LOST' : code, 'over'),
      })
    } else {
      const turned = await impatient
      assert.equal([turned?.code, turned?.data], ['NOT_READY', { sent: false }])
    }
    await client.reconnect()
    await until(got, 'x/a')
    const last = lines.at(-1)
    last?.answer('x/a')
    await first
    await until(got, 'x/b')
    last?.answer('x/b')
    await second
    const whole = lines.flatMap((one) => one.got).filter((method) => method !== 'ping')
    assert.equal(whole, ['x/a', 'x/a', 'x/b'], code)
    await client.close()
  }
})

test('a call that waits for a busy server gives up its slot and queues again to retry', async (t) => {
  const clock = createFakeClock()
  const { client, line, got } = await meet(t, { maxInFlight: 1, clock, retryBudget: { perMinute: 9 } })
  const first = client.request('x/a')
  const second = client.request('x/b')
  await client.ping()
  line.lose('x/a', new TransportError('HTTP_STATUS', 'busy', { data: { status: 503, retryAfter: '1' } }))
  await until(got, 'x/b')
  await clock.advance(1_100)
  await client.ping()
  assert.equal(line.got, ['x/a', 'ping', 'x/b', 'ping'])
  line.answer('x/b')
  await second
  await until(got, 'x/a')
  line.answer('x/a')
  await first
})

test('a busy member passes its health check; when it dies, its calls move elsewhere', async (t) => {
  const one = desk()
  const two = desk()
  const clock = createFakeClock()
  const pool = await startClientPool({
    transport: (member) => (member === 1 ? one : two).transport,
    size: 2,
    client: { maxInFlight: 1 },
    health: { every: 100, misses: 1 },
    clock,
    logger: false,
  })
  t.after(() => pool.close())
  const calls = ['a', 'b', 'c', 'd'].map((name) => pool.request(`x/${name}`))
  await one.got.next((method) => method.startsWith('x/'))
  await two.got.next((method) => method.startsWith('x/'))
  await clock.advance(100)
  await Promise.all([
    one.got.next((method) => method === 'ping'),
    two.got.next((method) => method === 'ping'),
  ])
  await clock.advance(150)
  assert.equal(
    pool.members().map(({ status }) => status),
    ['ready', 'ready'],
  )
  const lost = rejection(calls[0] as Promise<unknown>)
  one.lines[0]?.events.closed({ error: new TransportError('CONNECTION_LOST', 'cut') })
  await lost
  for (const name of ['b', 'd', 'c']) {
    while (two.lines[0]?.got.includes(`x/${name}`) !== true) await two.got.next()
    two.lines[0].answer(`x/${name}`)
  }
  await Promise.all(calls.slice(1))
})

test.run()
