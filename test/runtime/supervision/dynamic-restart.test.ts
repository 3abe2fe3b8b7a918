import * as assert from 'uvu/assert'
import {
  createFakeClock,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  type ProcessRef,
  shutdown,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, gate, gather, Recorder, startTree, turn, worker } from '../_family.js'
import { add, breakable, startPool } from '../_pool.js'

const test = suite('dynamic supervisor restart')

test('OTP-72 a dynamic supervisor is one_for_one: a crash restarts that child only', async (t) => {
  const log = new Recorder()
  const pool = await startPool(t)
  const [a] = [await add(pool, worker(log, 'a')), await add(pool, worker(log, 'b'))]
  a.kill()
  assert.equal(await log.next(4), ['start a', 'start b', 'end a', 'start a'])
  const restarts = (await pool.children()).map(({ id, restarts }) => `${id} ${restarts}`)
  assert.equal(restarts.sort(), ['a 1', 'b 0'])
})

test('OTP-35 OTP-36 temporary and normally ended transient children are forgotten', async (t) => {
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

test('OTP-75 an ignored restart removes the child, a failed one keeps restarting', async (t) => {
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

test('OTP-49 OTP-55 restarts of all children count together and end it with shutdown', async (t) => {
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

test('OTP-56 a dynamic supervisor restarted by its parent has no children', async (t) => {
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

test('requests are served while a dead child releases resources', async (t) => {
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

test('a stop waits for releases of a dead child and does not restart it', async (t) => {
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

test.run()
