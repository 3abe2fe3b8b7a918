// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { type BackoffOptions, type Client, startClient } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import { type ClientTransport, TransportError } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { closeWith } from '../_flaky.js'
import { outage, quantile, seeded } from '../_outage.js'
import { rejection, watch } from '../_raw.js'

const test = suite('a client whose server is back', { timeout: 60_000 })
/** Milliseconds, by the clock. */
const usually = 500
const atMost = 1_000

interface Parts {
  readonly transport: ClientTransport
  readonly clock: FakeClock
  readonly name?: string
  readonly backoff?: BackoffOptions
}

function begin(t: TestContext, { transport, clock, name = 'one', backoff = {} }: Parts): Client {
  const options = {
    name,
    transport,
    clock,
    backoff: { random: seeded(1), ...backoff },
    logger: false,
  } as const
  const client = startClient({ ...options, timeout: Number.POSITIVE_INFINITY })
  t.after(() => closeWith(client, clock))
  return client
}

test('a client with a waiting call is back soon after outages of any length', async (t) => {
  const clock = createFakeClock()
  const server = outage(clock)
  const random = seeded(7)
  const clients = Array.from({ length: 40 }, (_, i) =>
    begin(t, { transport: server.transport, clock, name: `c${i}`, backoff: { random } }),
  )
  await Promise.all(clients.map((client) => client.ready()))
  const served: number[] = []
  for (const length of [2_000, 500, 27_000, 2_000, 100, 300_000, 2_000]) {
    server.down()
    const begun = clock.now()
    const calls = clients.map((client) => client.ping().then(() => clock.now() - begun - length))
    await clock.advance(length)
    server.back()
    await clock.advance(atMost)
    served.push(...(await Promise.all(calls)))
  }
  assert.ok(quantile(served, 1) <= atMost, `at most ${quantile(served, 1)} ms`)
  assert.ok(quantile(served, 0.5) <= usually, `half of them after ${quantile(served, 0.5)} ms`)
})

test('backs off more and more while nobody waits', async (t) => {
  const clock = createFakeClock()
  const server = outage(clock)
  const client = begin(t, { transport: server.transport, clock })
  await client.ready()
  server.down()
  await clock.advance(600_000)
  // full jitter below 30 s: one attempt in 15 s, and some more in the beginning
  assert.ok(server.attempts.length < 80, `${server.attempts.length} attempts`)
})

for (const [who, wait] of [
  ['a call', (client: Client) => client.ping()],
  ['ready()', (client: Client) => client.ready({ timeout: 120_000 })],
  ['a notification', (client: Client) => client.notify('test/any')],
] as const) {
  test(`${who} that comes during a long pause shortens it`, async (t) => {
    const clock = createFakeClock()
    const server = outage(clock)
    const backoff = { base: 60_000, cap: 60_000, random: () => 1 }
    const client = begin(t, { transport: server.transport, clock, backoff })
    await client.ready()
    server.down()
    await clock.advance(10)
    assert.is(client.state.delay, 60_000)
    server.back()
    await clock.advance(10_000)
    assert.is(client.state.phase, 'disconnected')
    const waits = wait(client)
    await clock.advance(999)
    // what was told of the pause is true again
    assert.is(client.state.delay, 11_010)
    await clock.advance(1)
    await waits
  })
}

test('goes back to long pauses once nobody waits any more', async (t) => {
  const clock = createFakeClock()
  const server = outage(clock)
  const client = begin(t, { transport: server.transport, clock, backoff: { random: () => 1 } })
  await client.ready()
  server.down()
  const gaveUp = rejection(client.ping({ timeout: 20_000 }))
  await clock.advance(20_000)
  assert.is((await gaveUp).code, 'TIMEOUT')
  await clock.advance(2_000)
  assert.is(client.state.delay, 30_000)
})

test('the backoff is long again after a waiting call met a crashed client', async (t) => {
  const clock = createFakeClock()
  const server = { isDown: false, cut: (): void => {} }
  const serverInfo = { name: 'weak', version: '1' }
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
  const transport: ClientTransport = {
    name: 'weak',
    connect(events) {
      const error = new TransportError('CONNECT_FAILED', 'down', { retryable: true })
      server.cut = () => events.closed({ error })
      if (server.isDown) server.cut()
      else events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const { id, method } = message
          const result = method === 'initialize' ? greeting : {}
          events.message(JSON.stringify({ jsonrpc: '2.0', id, result }))
        },
        close: () => events.closed({}),
      }
    },
  }
  const { client, kill, states } = watch(t, { transport, clock, backoff: { random: () => 1 } })
  await client.ready()
  kill('client')
  await client.ping()
  server.isDown = true
  server.cut()
  await states.next(({ phase }) => phase === 'disconnected')
  await clock.advance(20_000)
  const delays = states.all.flatMap(({ delay }) => (delay === undefined ? [] : [delay]))
  assert.ok(delays.includes(4_000), String(delays))
})

test('Retry-After is honoured, however many calls wait', async (t) => {
  const clock = createFakeClock()
  const attempts: number[] = []
  const data = { status: 503, retryAfter: '7' }
  const error = new TransportError('HTTP_STATUS', 'busy', { retryable: true, data })
  const connect: ClientTransport['connect'] = (events) => {
    attempts.push(clock.now())
    events.closed({ error })
    return { send() {}, close() {} }
  }
  const client = begin(t, { transport: { name: 'busy', connect }, clock, backoff: { random: () => 1 } })
  await clock.advance(1)
  for (let call = 0; call < 30; call++) {
    void client.ping({ timeout: 60_000 }).catch(() => {})
    await clock.advance(1_000)
  }
  const gaps = attempts.slice(1).map((at, i) => at - (attempts[i] ?? 0))
  assert.ok(gaps.length >= 3 && Math.min(...gaps) >= 7_000, gaps.join())
  assert.ok(Math.max(...gaps) <= 8_000, gaps.join())
})

test('a program that exits at each start runs little, even while calls wait', async (t) => {
  const clock = createFakeClock()
  const takes = 400
  const server = outage(clock, { spawns: true, takes })
  const client = begin(t, { transport: server.transport, clock })
  server.down()
  void client.ping({ timeout: 600_000 }).catch(() => {})
  await clock.advance(600_000)
  const busy = (server.attempts.length * takes) / 600_000
  assert.ok(busy < 0.2, `it is started ${busy * 100} % of the time`)
  // and yet it comes back in seconds
  server.back()
  await clock.advance(10 * takes + takes)
  assert.is(client.state.phase, 'ready')
})

test('awaitedCap bounds the backoff while a call waits, cap in every case', async (t) => {
  for (const [backoff, expected] of [
    [{ awaitedCap: 5_000 }, 5_000],
    [{ awaitedCap: 5_000, cap: 300 }, 300],
    [{ awaitedCap: 50 }, 50],
  ] as const) {
    const clock = createFakeClock()
    const server = outage(clock)
    const client = begin(t, { transport: server.transport, clock, backoff: { ...backoff, random: () => 1 } })
    server.down()
    void client.ping().catch(() => {})
    await clock.advance(60_000)
    assert.is(client.state.delay, expected)
  }
})

test('reconnects of a thousand clients with waiting calls are spread over time', async (t) => {
  const clock = createFakeClock()
  const server = outage(clock)
  const random = seeded(3)
  const clients = Array.from({ length: 1_000 }, (_, i) =>
    begin(t, { transport: server.transport, clock, name: `c${i}`, backoff: { random } }),
  )
  await Promise.all(clients.map((client) => client.ready()))
  server.down()
  const from = clock.now()
  const calls = clients.map((client) => client.ping())
  await clock.advance(5_000)
  server.back()
  await clock.advance(atMost)
  await Promise.all(calls)
  const tenths = new Map<number, number>()
  for (const at of server.attempts.filter((one) => one > from)) {
    const tenth = Math.floor((at - from) / 100)
    tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1)
  }
  const peak = Math.max(...tenths.values())
  assert.ok(peak < 400, `${peak} attempts in 100 ms: ${[...tenths.values()].join(' ')}`)
})

test.run()
