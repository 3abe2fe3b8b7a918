import * as assert from 'uvu/assert'
import { ignore } from '../../runtime/behaviour.js'
import {
  type DynamicSupervisor,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  startDynamicSupervisor,
} from '../../runtime/dynamic-supervisor.js'
import { shutdown } from '../../runtime/exit.js'
import { createFakeClock } from '../../runtime/fake-clock.js'
import type { ProcessRef } from '../../runtime/ref.js'
import type { RootOptions } from '../../runtime/root.js'
import type { DynamicSupervisorOptions } from '../../runtime/supervisor-options.js'
import { suite, type TestContext } from '../support/suite.js'
import {
  ending,
  failure,
  gate,
  gather,
  Recorder,
  startTree,
  thrown,
  turn,
  worker,
  type WorkerRef,
  workerOf,
} from './_family.js'

const test = suite('dynamic supervisor')

async function startPool(
  t: TestContext,
  options: DynamicSupervisorOptions & RootOptions = {},
): Promise<DynamicSupervisor> {
  const pool = await startDynamicSupervisor({ logger: false, ...options })
  t.after(() => pool.ref.kill())
  return pool
}

async function add(
  pool: DynamicSupervisor,
  spec: Parameters<DynamicSupervisor['startChild']>[0],
): Promise<WorkerRef> {
  const { ref } = await pool.startChild(spec)
  if (ref === undefined) throw new Error('it was ignored')
  return ref as WorkerRef
}

/** A child that fails to start while `plan.broken`, noting each attempt. */
function breakable(log: Recorder, id: string) {
  const plan = { broken: false, ignores: false }
  const spec = worker(log, id, {
    init() {
      if (!plan.broken) return
      log.note(`try ${id}`)
      throw new Error('broken')
    },
  })
  const start: typeof spec.start = (ctx) => (plan.ignores ? ignore : spec.start(ctx))
  return { plan, spec: { ...spec, start } }
}

test('OTP-72 children come and go, and ids need not be unique', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  assert.equal(await pool.count(), { specs: 0, active: 0, supervisors: 0, workers: 0 })
  const [first, second] = [await add(pool, worker(log, 'a')), await add(pool, worker(log, 'a'))]
  assert.is.not(first, second)
  await pool.startChild(dynamicSupervisorSpec())
  assert.equal(await pool.count(), { specs: 3, active: 3, supervisors: 1, workers: 2 })
  assert.equal((await pool.children()).map(({ id }) => id).sort(), ['a', 'a', 'dynamic_supervisor'])
  await pool.terminateChild(first)
  assert.is((await pool.count()).specs, 2)
  assert.is(await second.call('id'), 'a')
})

test('OTP-72 it is one_for_one: a crash restarts that child only, others are untouched', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  const [a] = [await add(pool, worker(log, 'a')), await add(pool, worker(log, 'b'))]
  a.kill()
  assert.equal(await log.next(4), ['start a', 'start b', 'end a', 'start a'])
  const restarts = (await pool.children()).map(({ id, restarts }) => `${id} ${restarts}`)
  assert.equal(restarts.sort(), ['a 1', 'b 0'])
})

test('OTP-35 OTP-36 temporary children, and transient ones that end normally, are forgotten', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const pool = await startPool(t, { intensity: 0 })
  const crashing = await add(pool, worker(log, 'crashing', { restart: 'temporary' }))
  const leaving = await add(pool, worker(log, 'leaving', { restart: 'transient' }))
  const ends = Promise.all([ending(crashing), ending(leaving)])
  crashing.cast('crash')
  leaving.cast('stop')
  await ends
  assert.is((await pool.count()).specs, 0)
  assert.equal(
    reports.map(({ context, child }) => `${context} ${child.id}`),
    ['child_terminated crashing'],
  )
})

test('OTP-73 maxChildren refuses one more without calling its start, restarting children included', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t, { maxChildren: 2, intensity: Number.POSITIVE_INFINITY })
  const { plan, spec } = breakable(log, 'a')
  const a = await add(pool, spec)
  const b = await add(pool, worker(log, 'b'))
  log.rest()
  const error = await failure(pool.startChild(worker(log, 'c')))
  assert.is(error.code, 'MAX_CHILDREN')
  assert.ok(error.retryable)
  assert.equal(error.data, { maxChildren: 2 })
  plan.broken = true
  a.kill()
  assert.equal(await log.next(2), ['end a', 'try a'])
  assert.equal(await pool.count(), { specs: 2, active: 1, supervisors: 0, workers: 2 })
  assert.is((await failure(pool.startChild(worker(log, 'c')))).code, 'MAX_CHILDREN')
  await pool.terminateChild(b)
  await add(pool, worker(log, 'c'))
  assert.equal(
    log.rest().filter((event) => event !== 'try a'),
    ['end b', 'start c'],
  )
})

test('OTP-73 starts that failed or were ignored take no place', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t, { maxChildren: 1 })
  const { plan, spec } = breakable(log, 'a')
  plan.broken = true
  const error = await failure(pool.startChild(spec))
  assert.is(error.code, 'START_FAILED')
  assert.equal(error.data, { id: 'a' })
  assert.match((error.cause as Error).message, 'broken')
  plan.ignores = true
  assert.is((await pool.startChild(spec)).ref, undefined)
  assert.is((await pool.count()).specs, 0)
  await add(pool, worker(log, 'b'))
})

test('OTP-75 a restart that is ignored removes the child, one that fails keeps it restarting', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t, { intensity: Number.POSITIVE_INFINITY })
  const { plan, spec } = breakable(log, 'a')
  const first = await add(pool, spec)
  plan.broken = true
  first.kill()
  await log.next(3)
  assert.equal(
    (await pool.children()).map(({ status, ref }) => [status, ref]),
    [['restarting', undefined]],
  )
  plan.ignores = true
  while ((await pool.count()).specs > 0) await turn()
})

test('OTP-76 terminateChild takes a reference, also the old one of a restarting child', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t, { intensity: Number.POSITIVE_INFINITY })
  const { plan, spec } = breakable(log, 'a')
  const first = await add(pool, spec)
  plan.broken = true
  first.kill()
  await log.next(3)
  await pool.terminateChild(first)
  assert.is((await pool.count()).specs, 0)
  log.rest()
  await turn()
  assert.equal(log.rest(), [])
})

test('OTP-76 references of others, of the ended and of earlier incarnations are NOT_FOUND', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  const tree = await startTree(t, { strategy: 'one_for_one', children: [worker(log, 'other')] })
  const first = await add(pool, worker(log, 'a'))
  first.kill()
  await log.next(4)
  assert.is((await failure(pool.terminateChild(first))).code, 'NOT_FOUND')
  assert.is((await failure(pool.terminateChild(await workerOf(tree, 'other')))).code, 'NOT_FOUND')
  const second = (await pool.children())[0]?.ref
  assert.ok(second?.alive)
  await pool.terminateChild(second)
  assert.is((await failure(pool.terminateChild(second))).code, 'NOT_FOUND')
})

test('OTP-27 children stop all at once: the time is that of the slowest', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const pool = await startPool(t, { clock })
  const never = new Promise(() => {})
  for (const shutdown of [300, 100, 200]) {
    await add(
      pool,
      worker(log, `${shutdown}`, {
        shutdown,
        trapExit: true,
        terminate: () => (log.note(`asked ${shutdown}`), never),
      }),
    )
  }
  log.rest()
  const stopping = pool.stop()
  await clock.advance(0)
  assert.equal(log.rest(), ['asked 300', 'asked 100', 'asked 200'])
  await clock.advance(299)
  assert.equal(log.rest(), ['end 100', 'end 200'])
  assert.ok(pool.ref.alive)
  await clock.advance(1)
  assert.equal(log.rest(), ['end 300'])
  assert.equal(await stopping, shutdown)
})

test('OTP-28 told to stop with normal it ends normal, its children with shutdown', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  const child = ending(await add(pool, worker(log, 'a')))
  assert.equal(await pool.ref.stop({ type: 'normal' }), { type: 'normal' })
  assert.equal(await child, shutdown)
})

test('OTP-49 OTP-55 restarts of all children count together, and one too many ends it with shutdown', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const pool = await startPool(t, { intensity: 1, clock: createFakeClock() })
  const ended = ending(pool.ref)
  const [a, b] = [await add(pool, worker(log, 'a')), await add(pool, worker(log, 'b'))]
  a.kill()
  await log.next(4)
  b.kill()
  assert.equal(await ended, shutdown)
  assert.equal(log.rest(), ['end b', 'end a'])
  assert.equal(reports.at(-1)?.reason, 'reached_max_restart_intensity')
  assert.is(reports.at(-1)?.child.id, 'b')
})

test('OTP-56 one that was restarted by its parent has no children', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, {
    strategy: 'one_for_one',
    children: [dynamicSupervisorSpec({ name: 'pool' })],
  })
  const pool = async (): Promise<ProcessRef> => (await tree.children())[0]?.ref ?? tree.ref
  const first = await pool()
  await add(dynamicSupervisorAt(first), worker(log, 'a'))
  first.kill()
  await log.next(2)
  const second = await pool()
  assert.is.not(second, first)
  assert.is((await dynamicSupervisorAt(second).count()).specs, 0)
})

test('others are served while a dead child lets go of what it owned', async (t) => {
  const log = new Recorder()
  const released = gate()
  const pool = await startPool(t)
  const slow = await add(pool, worker(log, 'slow', { init: (ctx) => void ctx.own(() => released.opened) }))
  slow.cast('crash')
  assert.equal(await log.next(2), ['start slow', 'end slow'])
  await add(pool, worker(log, 'b'))
  const slowNow = (await pool.children()).find(({ id }) => id === 'slow')
  assert.is(slowNow?.status, 'restarting')
  assert.equal(log.rest(), ['start b'])
  released.open()
  assert.equal(await log.next(1), ['start slow'])
})

test('a stop waits for a dead child that still lets go, and does not start it again', async (t) => {
  const log = new Recorder()
  const released = gate()
  const pool = await startPool(t)
  const init = (ctx: { own(fn: () => Promise<void>): unknown }): void => {
    ctx.own(() => released.opened.then(() => log.note('released')))
  }
  const slow = await add(pool, worker(log, 'slow', { init }))
  slow.cast('crash')
  await log.next(2)
  const stopping = pool.stop().then(() => log.note('stopped'))
  await turn()
  assert.equal(log.rest(), [])
  released.open()
  await stopping
  assert.equal(log.rest(), ['released', 'stopped'])
})

test('wrong references and specs reject in the caller, and the supervisor is untouched', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  for (const ref of ['a', undefined, {}, null]) {
    assert.is((await failure(pool.terminateChild(ref as never))).code, 'BAD_OPTION')
  }
  assert.is((await failure(pool.startChild({ id: 'a' } as never))).code, 'BAD_SPEC')
  const tree = await startTree(t, { strategy: 'one_for_one', children: [worker(log, 'a')] })
  for (const ref of [tree.ref, await workerOf(tree, 'a'), 'pool']) {
    assert.is(thrown(() => dynamicSupervisorAt(ref as ProcessRef)).code, 'BAD_OPTION')
  }
  assert.ok(pool.ref.alive)
})

test('a thousand children are started, listed and stopped', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  for (let i = 0; i < 1_000; i++) await pool.startChild(worker(log, `c${i}`, { restart: 'temporary' }))
  assert.is((await pool.count()).active, 1_000)
  await pool.stop()
  assert.is(log.rest().length, 2_000)
})

test.run()
