import { getEventListeners } from 'node:events'
import * as assert from 'uvu/assert'
import { ClientError, type ClientPool, findClient, startClientPool } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { createFakeClock, Registry } from 'caduceus/runtime'
import { type ClientTransport, http, stdio, TransportError } from 'caduceus/transports'
import { stillThere } from '../../support/collected.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { end, json, listen, polite, result, type Seen } from '../../transports/_http.js'
import { flaky } from '../_flaky.js'
import { startPool, startProgramPool } from './_pool.js'
import { raw, rawNear, rejection } from '../_raw.js'
import { runs } from '../_servers.js'

const test = suite('client pool')

async function names(pool: ClientPool, count: number, tool = 'who'): Promise<string[]> {
  const found = new Set<string>()
  while (found.size < count) found.add((await pool.callTool(tool)).text)
  return [...found]
}

async function pids(pool: ClientPool, count: number): Promise<number[]> {
  return (await names(pool, count, 'pid')).map(Number)
}

test('round robin is exactly even: n times k calls are k for each of n members', async (t) => {
  const { pool, served } = await startPool(t, { size: 4 })
  const texts = await Promise.all(Array.from({ length: 40 }, async () => (await pool.callTool('count')).text))
  assert.equal(served(), { 'pool-1': 10, 'pool-2': 10, 'pool-3': 10, 'pool-4': 10 })
  // Each server counts its own calls: every number from 1 to 10 came four times.
  const counts = texts.map(Number).sort((a, b) => a - b)
  assert.equal(
    counts,
    Array.from({ length: 40 }, (_, index) => Math.floor(index / 4) + 1),
  )
})

test('least busy goes by the calls under way: a slow member gets fewer', async (t) => {
  const slow = heard<Seen>()
  const answer = (seen: Seen): void => json(seen, result(seen, { content: [{ type: 'text', text: 'done' }] }))
  const servers = [
    await listen(t, polite(slow.add)),
    await listen(t, polite(answer)),
    await listen(t, polite(answer)),
  ]
  const { pool, served } = await startPool(t, {
    size: 3,
    strategy: 'least_busy',
    transport: (member) => http(servers[member - 1]?.url ?? ''),
  })
  const calls = [pool.callTool('x'), pool.callTool('x'), pool.callTool('x')]
  // which of them has the slow member is not told
  const done = heard<unknown>()
  for (const call of calls) void call.then(done.add)
  await slow.next()
  for (const _ of [2, 3]) await done.next()
  for (let call = 0; call < 6; call++) await pool.callTool('x')
  assert.is(served()['pool-1'], 1)
  assert.equal(
    pool.members().map(({ pending }) => pending),
    [1, 0, 0],
  )
  for (const seen of slow.all) answer(seen)
  await Promise.all(calls)
})

test('random goes by chance', async (t) => {
  const chances = [0.9, 0, 0.5, 1, 0.99]
  const { pool, served } = await startPool(t, {
    size: 2,
    strategy: 'random',
    random: () => chances.shift() ?? 0,
  })
  for (let call = 0; call < 5; call++) await pool.callTool('count')
  // The order of members is the one in which they became ready.
  assert.equal(Object.values(served()).sort(), [1, 4])
})

test('start resolves with `min` ready members, and the first call finds a connection', async (t) => {
  const { pool, served } = await startPool(t, {
    size: 3,
    min: 2,
    transport: (member) => (member === 2 ? rawNear({ init: 'hang' }) : rawNear()),
  })
  const ready = pool.members().filter(({ status }) => status === 'ready')
  assert.equal(
    ready.map(({ name }) => name),
    ['pool-1', 'pool-3'],
  )
  for (let call = 0; call < 4; call++) await pool.callTool('count')
  assert.equal(served(), { 'pool-1': 2, 'pool-2': 0, 'pool-3': 2 })
})

test('a pool that is not ready in time rejects with the reasons, and leaves nothing', async () => {
  const error = await rejection(
    startClientPool({ transport: raw(['--init', 'hang']), size: 2, readyTimeout: 300, logger: false }),
  )
  assert.is(error.code, 'NOT_READY')
  assert.match(error.message, 'pool-1 connecting')
})

test('a pool that cannot become ready rejects at once and leaves nothing', async () => {
  const transport = (member: number): ClientTransport =>
    member === 1 ? raw() : stdio({ command: '/no/such/command' })
  const readyTimeout = Number.POSITIVE_INFINITY
  const error = await rejection(startClientPool({ transport, size: 3, min: 2, readyTimeout, logger: false }))
  assert.is(error.code, 'CONNECT_FAILED')
  assert.match(error.message, '/no/such/command')
})

test('a dead server is out until it is back; its calls reject at once, others serve', async (t) => {
  const { pool, event, served, said } = await startProgramPool(t, { size: 3 })
  const all = await pids(pool, 3)
  const hanging = [1, 2, 3].map(() => pool.callTool('hang').catch((error: Error) => error))
  for (let call = 0; call < 3; call++) await said.next((line) => line === 'got tools/call hang')
  process.kill(all[0] ?? 0, 'SIGKILL')
  const lost = await event('lost')
  const error = (await Promise.race(hanging)) as Error & { code: string }
  assert.is(error.code, 'CONNECTION_LOST')
  const before = served()[lost.member]
  await Promise.all([1, 2, 3, 4].map(() => pool.callTool('count')))
  await event('ready', lost.member)
  assert.ok((served()[lost.member] ?? 0) - (before ?? 0) <= 2)
  assert.is((await pids(pool, 3)).includes(all[0] ?? 0), false)
})

test('a member in a crash loop restarts with pauses and affects no other', async (t) => {
  const registry = new Registry()
  const { pool, event } = await startPool(t, {
    registry,
    client: { backoff: { base: 1, cap: 1 }, intensity: 0 },
  })
  const other = (await (await findClient(registry, 'pool-2')).callTool('who')).text
  for (let round = 1; round <= 5; round++) {
    registry.whereis('client pool-1')?.kill()
    await event('down', 'pool-1')
    assert.is((await pool.callTool('who')).text, other)
    await event('restarted', 'pool-1')
    await event('ready', 'pool-1')
  }
  assert.equal(
    pool.members().map(({ restarts }) => restarts),
    [5, 0],
  )
  assert.is((await (await findClient(registry, 'pool-2')).callTool('who')).text, other)
})

test.slow('members whose person refuses to sign in ask again by a call only', async (t) => {
  const clock = createFakeClock()
  let asked = 0
  const transport: ClientTransport = {
    name: 'refused',
    connect() {
      asked += 1
      throw new ClientError('AUTHORIZATION_FAILED', 'access_denied')
    },
  }
  const { pool } = await startPool(t, { transport, size: 2, min: 0, clock, client: {} })
  while (asked < 2) await clock.advance(1)
  for (let seconds = 0; seconds < 590; seconds += 10) await clock.advance(10_000)
  assert.is(asked, 2)
  const call = rejection(pool.callTool('x', {}, { timeout: 60_000 }))
  await clock.advance(60_000)
  assert.is((await call).code, 'TIMEOUT')
  assert.ok(asked > 2)
})

test('a member that cannot start is retried with pauses and serves once it can', async (t) => {
  const puppet = flaky(0)
  let broken = true
  const transport: ClientTransport = {
    name: 'sometimes',
    connect(events, scope) {
      if (broken) throw new Error('not now')
      return puppet.transport.connect(events, scope)
    },
  }
  const { pool, event } = await startPool(t, { size: 1, min: 0, transport })
  const call = pool.request('custom/late', {})
  for (let round = 0; round < 3; round++) {
    assert.match((await event('failed')).reason?.message ?? '', 'not now')
    await event('down')
  }
  broken = false
  await event('ready')
  await call
  assert.ok(puppet.asked.includes('custom/late'))
})

test('a crash of the pool actor loses no member and no call', async (t) => {
  const registry = new Registry()
  const { pool, event } = await startPool(t, {
    registry,
    client: { intensity: 0, backoff: { base: 1, cap: 1 } },
  })
  const before = await names(pool, 2)
  const calls = Promise.all([1, 2, 3, 4].map(() => pool.callTool('count')))
  registry.whereis('pool pool')?.kill()
  await calls
  await registry.whenUp('pool pool')
  assert.equal((await names(pool, 2)).sort(), before.sort())
  // The next one looks after the members all the same.
  registry.whereis('client pool-2')?.kill()
  await event('down', 'pool-2')
  await event('ready', 'pool-2')
})

test('when all clients of a pool end, only calls in flight are lost', async (t) => {
  const registry = new Registry()
  const { pool, event } = await startProgramPool(t, { registry })
  registry.whereis('clients of pool pool')?.kill()
  const back = [await event('ready'), await event('ready')]
  assert.equal(back.map(({ member }) => member).sort(), ['pool-1', 'pool-2'])
  assert.is((await pool.callTool('count')).text, '1')
})

test('a call leaves a member whose server is unreachable, and another one serves it', async (t) => {
  const answer = polite((seen) => json(seen, result(seen, { content: [{ type: 'text', text: 'here' }] })))
  const [gone, good] = [await listen(t, answer), await listen(t, answer)]
  const { pool, served, event } = await startPool(t, {
    transport: (member) => http(member === 1 ? gone.url : good.url, { stream: false }),
    client: { backoff: { base: 60_000, random: () => 1 } },
  })
  await end(gone.server)
  const results = await Promise.all([1, 2, 3, 4].map(() => pool.callTool('x')))
  assert.equal(
    results.map(({ text }) => text),
    ['here', 'here', 'here', 'here'],
  )
  await event('lost', 'pool-1')
  const before = served()['pool-1']
  await pool.callTool('x')
  await pool.callTool('x')
  assert.is(served()['pool-1'], before)
})

test('an unsent call is tried once per member and once more, then rejects', async (t) => {
  const made: string[] = []
  const serverInfo = { name: 'shy', version: '1' }
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
  const transport: ClientTransport = {
    name: 'shy',
    connect(events) {
      events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const { id, method } = message
          if (method === 'initialize')
            return events.message(JSON.stringify({ jsonrpc: '2.0', id, result: greeting }))
          made.push(method)
          // the connection goes on, so that the member stays in the rotation
          events.lost(id, new TransportError('NOT_OPEN', 'not now'))
        },
        close: () => events.closed({}),
      }
    },
  }
  const { pool } = await startPool(t, { transport, size: 3 })
  const error = await rejection(pool.request('x/any'))
  assert.equal([error.code, error.data, made.length], ['NOT_READY', { sent: false }, 4])
})

test('ready() of a pool leaves no listener on the signal of its caller', async (t) => {
  const { pool } = await startPool(t)
  const { signal } = new AbortController()
  await pool.ready({ signal })
  await rejection(pool.ready({ signal, count: 9, timeout: 1 }))
  assert.equal(getEventListeners(signal, 'abort'), [])
})

test('an aborted or timed out wait for a pool is forgotten', async (t) => {
  const { pool } = await startPool(t)
  const wait = async (): Promise<Record<string, WeakRef<object>>> => {
    const controller = new AbortController()
    const given = rejection(pool.ready({ count: 9, signal: controller.signal }))
    controller.abort()
    assert.is((await given).code, 'CANCELLED')
    const { signal } = new AbortController()
    assert.is((await rejection(pool.ready({ count: 9, signal, timeout: 1 }))).code, 'NOT_READY')
    return { givenUp: new WeakRef(controller.signal), late: new WeakRef(signal) }
  }
  assert.equal(await stillThere(await wait()), [])
})

test('an unsent call of a client that closes moves to another member', async (t) => {
  const registry = new Registry()
  const { pool, event } = await startPool(t, { registry })
  const first = await findClient(registry, 'pool-1')
  const closed = first.close()
  assert.equal(
    (await Promise.all([pool.callTool('echo', { text: 'a' }), pool.callTool('echo', { text: 'b' })])).map(
      ({ text }) => text,
    ),
    ['a', 'b'],
  )
  await closed
  await event('ready', 'pool-1')
})

test('close ends all members and processes at once; waiting and later calls reject', async (t) => {
  const { pool } = await startProgramPool(t)
  const found = await pids(pool, 2)
  const leases = [await pool.checkout(), await pool.checkout()]
  const waits = pool.callTool('count')
  await Promise.all([pool.close(), pool[Symbol.asyncDispose]()])
  await pool.closed
  assert.is((await rejection(waits)).code, 'CLOSED')
  assert.is((await rejection(pool.callTool('count'))).code, 'CLOSED')
  assert.is((await rejection(pool.checkout())).code, 'CLOSED')
  assert.throws(
    () => pool.add(),
    (error: { code: string }) => error.code === 'CLOSED',
  )
  assert.equal(found.map(runs), [false, false])
  for (const lease of leases) lease.release()
})

test('a pool whose own tree ends has given up: calls fail at once, and closed rejects', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const registry = pool.registry
  await pool.callTool('count')
  for (let crash = 0; crash <= 3; crash++) {
    await registry.whenUp('pool pool')
    registry.whereis('pool pool')?.kill()
  }
  assert.is((await rejection(pool.closed)).code, 'GAVE_UP')
  assert.is((await rejection(pool.callTool('count'))).code, 'GAVE_UP')
})

test.run()
