import { rm, symlink, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { ClientState } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { type ClientTransport, http, stdio, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { listen, polite, status } from '../../transports/_http.js'
import { closeWith, flaky } from '../_flaky.js'
import { rawServer, rejection, watch, watchNear } from '../_raw.js'

const test = suite('a client that is told to try again')

test('reconnect() finds a command installed later, behind the same handle', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'installed-'))
  t.after(() => rm(folder, { recursive: true }))
  const command = join(folder, 'server')
  const { client, phase } = watch(t, { transport: stdio({ command, args: [rawServer], stopTimeout: 100 }) })
  assert.is((await rejection(client.ready())).code, 'CONNECT_FAILED')
  assert.is((await rejection(client.reconnect())).code, 'CONNECT_FAILED')
  await symlink(process.execPath, command)
  await client.reconnect()
  const ready = await phase('ready')
  assert.equal([ready.attempt, ready.reason], [0, undefined])
  assert.is((await client.callTool('count')).text, '1')
  assert.is(client.inspect().tree?.restarts, 0)
})

test('reconnect() after a mended 401 makes a new session', async (t) => {
  let open = false
  const { url } = await listen(t, (seen) => (open ? polite()(seen) : status(seen, 401)))
  const { client } = watch(t, { transport: http(url, { stream: false }) })
  assert.is((await rejection(client.ready())).code, 'CONNECT_FAILED')
  open = true
  await client.reconnect()
  assert.is(client.state.phase, 'ready')
})

test('reconnect() retries at once and keeps the count of failed attempts', async (t) => {
  const clock = createFakeClock()
  const { transport } = flaky(2)
  const { client, states } = watch(t, { transport, clock, backoff: { base: 20_000, random: () => 1 } })
  const waits = (attempt: number) =>
    states.next((state) => state.attempt === attempt && state.delay !== undefined)
  assert.is((await waits(1)).delay, 20_000)
  const ready = client.reconnect()
  // how long depends on whether it is known by then that somebody waits
  assert.ok((await waits(2)).delay)
  await client.reconnect()
  await ready
  assert.equal([client.state.attempt, clock.now()], [2, 0])
  await closeWith(client, clock)
})

for (const [retryAfter, delay] of [
  ['7', 7_020],
  ['999999999', 30_020],
  ['soon', 20],
  [undefined, 20],
] as const) {
  test(`Retry-After: ${retryAfter} of a busy server delays the retry by ${delay} ms`, async (t) => {
    const clock = createFakeClock()
    const data = { status: 503, retryAfter }
    const error = new TransportError('HTTP_STATUS', 'busy', { retryable: true, data })
    const connect: ClientTransport['connect'] = (events) => {
      events.closed({ error })
      return { send() {}, close() {} }
    }
    const backoff = { base: 20, random: () => 1 }
    const { client, states } = watch(t, { transport: { name: 'busy', connect }, clock, backoff })
    const waits = await states.next((state) => state.delay !== undefined)
    assert.equal([waits.attempt, waits.delay], [1, delay])
    await closeWith(client, clock)
  })
}

test('reconnect() keeps an open connection and rejects a closed client or bad timeout', async (t) => {
  const { client } = watchNear(t)
  await client.ready()
  const { sessions } = client.inspect().counts
  await client.reconnect()
  assert.is(client.inspect().counts.sessions, sessions)
  assert.is((await rejection(client.reconnect({ timeout: -1 }))).code, 'BAD_OPTION')
  await client.close()
  assert.is((await rejection(client.reconnect())).code, 'CLOSED')
})

/** A transport that fails for good until the test says otherwise. */
function hopeless() {
  const { transport: good } = flaky(0)
  let attempts = 0
  let mended = false
  const transport: ClientTransport = {
    name: 'hopeless',
    connect(events, context) {
      attempts += 1
      if (mended) return good.connect(events, context)
      events.closed({ error: new TransportError('CONNECT_FAILED', 'never'), fatal: true })
      return { send() {}, close() {} }
    },
  }
  return {
    transport,
    attempts: () => attempts,
    mend: () => {
      mended = true
    },
  }
}

test('retryFailed retries a permanent failure at its pace; calls fail at once', async (t) => {
  const clock = createFakeClock()
  const { transport, attempts, mend } = hopeless()
  const { client } = watch(t, { transport, clock, retryFailed: 1_000, backoff: { random: () => 1 } })
  const failed = (): Promise<unknown> => rejection(client.ready())
  await failed()
  assert.is((await rejection(client.ping())).code, 'CONNECT_FAILED')
  await clock.advance(999)
  assert.is(attempts(), 1)
  await clock.advance(1)
  await failed()
  assert.is(attempts(), 2)
  // an attempt of the user does not make for a second round of attempts
  await rejection(client.reconnect())
  assert.is(attempts(), 3)
  await clock.advance(1_000)
  await failed()
  assert.is(attempts(), 4)
  mend()
  await clock.advance(1_000)
  await client.ready()
  assert.is(attempts(), 5)
  await closeWith(client, clock)
  assert.is(clock.pending, 0)
})

test('without retryFailed a failed client waits for reconnect() and holds no timer', async (t) => {
  const clock = createFakeClock()
  const { transport, attempts } = hopeless()
  const { client } = watch(t, { transport, clock })
  await rejection(client.ready())
  await clock.advance(24 * 60 * 60_000)
  assert.equal([attempts(), clock.pending], [1, 0])
  await closeWith(client, clock)
})

test.slow('events, iterator and snapshot agree on states through a kill and a restart', async (t) => {
  const { client, states, kill, phase } = watch(t)
  const followed: ClientState[] = []
  const snapshots: ClientState[] = []
  client.onState(() => snapshots.push(client.state))
  const loop = (async () => {
    for await (const state of client.states()) followed.push(state)
  })()
  await client.ready()
  for (const what of ['server', 'client', 'transport'] as const) {
    if (what === 'server') process.kill(Number((await client.callTool('pid')).text), 'SIGKILL')
    else kill(what)
    const gone = await phase('disconnected')
    assert.ok(gone.reason instanceof Error || gone.attempt === 0)
    await client.callTool('count')
  }
  await client.close()
  await loop
  // the iterator begins with the state that there was when it was asked for
  assert.equal(followed.slice(1), states.all)
  assert.is(followed.at(-1)?.phase, 'closed')
  assert.is(snapshots.at(-1)?.phase, 'closed')
  for (const one of states.all.filter(
    ({ phase: at, reason }) => at === 'disconnected' && reason instanceof TransportError,
  )) {
    assert.ok(one.attempt > 0)
    assert.type(one.delay, 'number')
  }
})

test.slow('a slow reader of states keeps the newest hundred', async (t) => {
  const clock = createFakeClock()
  const { transport, mend } = hopeless()
  const { client, states } = watch(t, { transport, clock })
  await rejection(client.ready())
  const slow = client.states()
  for (let i = 0; i < 200; i++) await rejection(client.reconnect())
  mend()
  await client.reconnect()
  assert.ok(states.all.length > 300)
  const seen: ClientState[] = []
  for await (const state of slow) {
    seen.push(state)
    if (state.phase === 'ready') break
  }
  assert.is(seen.length, 100)
  await closeWith(client, clock)
})

test.run()
