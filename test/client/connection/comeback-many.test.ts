import * as assert from 'uvu/assert'
import { startClientPool, startClients } from 'caduceus/client'
import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import { type ClientTransport, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { outage } from '../_outage.js'

const test = suite('clients that are looked after and somebody waits for', { timeout: 60_000 })
/** Milliseconds, by the clock. */
const atMost = 1_000

test('pool members reconnect sooner while a call or ready() waits', async (t) => {
  for (const wait of ['call', 'ready'] as const) {
    const clock = createFakeClock()
    const server = outage(clock)
    const backoff = { base: 60_000, cap: 60_000, random: () => 1 }
    const { transport } = server
    const pool = await startClientPool({
      transport,
      size: 3,
      clock,
      client: { backoff },
      logger: false,
      health: false,
    })
    t.after(async () => {
      const closed = pool.close()
      await clock.advance(100)
      await closed
    })
    server.down()
    await clock.advance(10)
    server.back()
    await clock.advance(10_000)
    assert.is(pool.members().filter(({ status }) => status === 'ready').length, 0)
    const waits = wait === 'call' ? pool.request('ping') : pool.ready({ count: 1 })
    await clock.advance(atMost)
    await waits
    // those who are back have no reason to hurry the next time
    server.down()
    await clock.advance(10)
    assert.equal(
      pool.members().map(({ state }) => state?.delay),
      [60_000, 60_000, 60_000],
    )
  }
})

/** A transport that fails for good until it is mended. */
function hopeless(clock: FakeClock) {
  const attempts: number[] = []
  const { transport: good } = outage(clock)
  let mended = false
  const transport: ClientTransport = {
    name: 'hopeless',
    connect(events, scope) {
      attempts.push(clock.now())
      if (mended) return good.connect(events, scope)
      events.closed({ error: new TransportError('CONNECT_FAILED', 'no such command'), fatal: true })
      return { send() {}, close() {} }
    },
  }
  return {
    transport,
    attempts,
    mend: () => {
      mended = true
    },
  }
}

test('a pool member that is not ready restarts, and sooner when a call waits', async (t) => {
  const clock = createFakeClock()
  const { transport, attempts, mend } = hopeless(clock)
  const backoff = { base: 60_000, cap: 60_000, random: () => 1 }
  const options = {
    transport,
    size: 1,
    min: 0,
    clock,
    client: { backoff },
    logger: false,
    health: false,
  } as const
  const pool = await startClientPool(options)
  t.after(async () => {
    const closed = pool.close()
    await clock.advance(100)
    await closed
  })
  await clock.advance(1_000)
  assert.equal([attempts.length, pool.members()[0]?.status], [1, 'down'])
  await clock.advance(60_000)
  assert.is(attempts.length, 2)
  mend()
  const call = pool.request('ping', undefined, { timeout: 30_000 })
  await clock.advance(atMost)
  await call
  assert.is(pool.members()[0]?.status, 'ready')
})

test('a client of a set that gave up restarts sooner when somebody waits', async (t) => {
  const clock = createFakeClock()
  const server = outage(clock)
  const backoff = { base: 60_000, cap: 60_000, random: () => 1 }
  const entry = { transport: server.transport }
  const clients = await startClients(
    { one: entry },
    { clock, client: { backoff, intensity: 0 }, logger: false },
  )
  t.after(async () => {
    const closed = clients.close()
    await clock.advance(100)
    await closed
  })
  const client = clients.get('one')
  await client?.ready()
  clients.registry.whereis('client one')?.kill()
  await clock.advance(10_000)
  assert.is(client?.state.phase, 'disconnected')
  const call = client?.ping()
  await clock.advance(atMost)
  await call
  assert.is(client?.state.phase, 'ready')
})

test.run()
