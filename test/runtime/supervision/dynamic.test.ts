import * as assert from 'uvu/assert'
import {
  createFakeClock,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  type ProcessRef,
  shutdown,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, failure, gate, Recorder, startTree, thrown, turn, worker, workerOf } from '../_family.js'
import { add, breakable, startPool } from '../_pool.js'

const test = suite('dynamic supervisor')

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

test('OTP-73 maxChildren counts restarting children and refuses before start runs', async (t) => {
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

test('OTP-73 failed and ignored starts do not count for maxChildren', async (t) => {
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

test('OTP-76 terminateChild takes also the old reference of a restarting child', async (t) => {
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

test('OTP-76 foreign, ended and earlier references are NOT_FOUND', async (t) => {
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

test('OTP-27 children stop concurrently, within the slowest shutdown', async (t) => {
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
        terminate: () => {
          log.note(`asked ${shutdown}`)
          return never
        },
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

test('OTP-28 stop with normal exits normal, its children with shutdown', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  const child = ending(await add(pool, worker(log, 'a')))
  assert.equal(await pool.ref.stop({ type: 'normal' }), { type: 'normal' })
  assert.equal(await child, shutdown)
})

test('invalid references and specs reject in the caller, not in the supervisor', async (t) => {
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

test('OTP-76 terminateChild resolves after the child ended and released its resources', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  const left = gate()
  const child = await add(pool, worker(log, 'a', { trapExit: true, terminate: () => left.opened }))
  const ending = pool.terminateChild(child).then(() => log.note('told'))
  await turn()
  left.open()
  await ending
  assert.equal(log.rest(), ['start a', 'end a', 'told'])
})

test.run()
