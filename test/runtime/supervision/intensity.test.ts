import * as assert from 'uvu/assert'
import {
  createFakeClock,
  type FakeClock,
  inspect,
  type ProcessRef,
  shutdown,
  type Strategy,
  type Supervisor,
  supervisorAt,
  supervisorSpec,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { ending, gather, Recorder, startTree, statuses, turn, worker, workerOf } from '../_family.js'

const test = suite('intensity')
const strategy = 'one_for_one'

interface Limits {
  intensity?: number
  periodMs?: number
  strategy?: Strategy
}

/** Two children on a fake clock. */
async function pair(
  t: TestContext,
  limits: Limits,
): Promise<{ tree: Supervisor; clock: FakeClock; log: Recorder }> {
  const log = new Recorder()
  const clock = createFakeClock(1_000_000)
  const children = [worker(log, 'a'), worker(log, 'b')]
  const tree = await startTree(t, { strategy, clock, children, ...limits })
  log.rest()
  return { tree, clock, log }
}

/** Kills a child and says whether its supervisor lived on. */
async function survives(tree: Supervisor, id = 'a'): Promise<boolean> {
  const ref = await workerOf(tree, id)
  ref.kill()
  for (let i = 0; i < 3; i++) await turn()
  return tree.ref.alive && (await statuses(tree))[id] === 'running'
}

test('OTP-49 intensity N allows N restarts in the window, and not one more', async (t) => {
  for (const intensity of [0, 1, 3]) {
    const { tree } = await pair(t, { intensity })
    for (let i = 0; i < intensity; i++) assert.ok(await survives(tree))
    assert.not(await survives(tree))
  }
})

test('OTP-48 a restart is immediate, without a delay', async (t) => {
  const { tree, clock, log } = await pair(t, {})
  ;(await workerOf(tree, 'a')).kill()
  assert.equal(await log.next(2), ['end a', 'start a'])
  assert.equal([clock.now(), clock.pending], [1_000_000, 0])
})

test('OTP-50 the window is exact: a restart as old as the period counts, no older', async (t) => {
  for (const [after, survived] of [
    [1_000, false],
    [1_001, true],
  ] as const) {
    const { tree, clock } = await pair(t, { intensity: 1, periodMs: 1_000 })
    assert.ok(await survives(tree))
    await clock.advance(after)
    assert.is(await survives(tree), survived)
  }
})

test('OTP-49 only restarts inside the window count, however many there were before', async (t) => {
  const { tree, clock } = await pair(t, { intensity: 2, periodMs: 1_000 })
  for (let i = 0; i < 10; i++) {
    assert.ok(await survives(tree))
    await clock.advance(501)
  }
  assert.ok(await survives(tree))
  assert.not(await survives(tree))
})

test('OTP-51 a restart that fails counts: with intensity 3 there are three attempts', async (t) => {
  const log = new Recorder()
  const health = { broken: false }
  const init = (): void => {
    if (!health.broken) return
    log.note('attempt')
    throw new Error('broken')
  }
  const tree = await startTree(t, { strategy, intensity: 3, children: [worker(log, 'a', { init })] })
  const ended = ending(tree.ref)
  health.broken = true
  ;(await workerOf(tree, 'a')).kill()
  assert.equal(await ended, shutdown)
  assert.equal(log.rest(), ['start a', 'end a', 'attempt', 'attempt', 'attempt'])
})

test('OTP-52 a group restart counts once, however many children it touches', async (t) => {
  for (const strategy of ['one_for_all', 'rest_for_one'] as const) {
    const { tree } = await pair(t, { strategy, intensity: 2 })
    assert.ok(await survives(tree))
    assert.ok(await survives(tree))
    assert.not(await survives(tree))
  }
})

test('OTP-52 restarts of all children count together', async (t) => {
  const { tree } = await pair(t, { intensity: 1 })
  assert.ok(await survives(tree, 'a'))
  assert.not(await survives(tree, 'b'))
})

test('OTP-53 manual restarts and ends without restart do not count', async (t) => {
  const { tree, log } = await pair(t, { intensity: 0 })
  for (let i = 0; i < 3; i++) {
    await tree.terminateChild('a')
    await tree.restartChild('a')
    await tree.startChild(worker(log, 't', { restart: 'temporary' }))
    await tree.startChild(worker(log, 'n', { restart: 'transient' }))
    const ends = [ending(await workerOf(tree, 't')), ending(await workerOf(tree, 'n'))]
    ;(await workerOf(tree, 't')).kill()
    ;(await workerOf(tree, 'n')).cast('stop')
    await Promise.all(ends)
    await tree.deleteChild('n')
  }
  assert.is(inspect(tree.ref).restartsLeft, 0)
  assert.ok(tree.ref.alive)
  assert.not(await survives(tree))
})

test('OTP-54 the default is 3 restarts in 5 s (as Elixir)', async (t) => {
  const { tree, clock } = await pair(t, {})
  for (let i = 0; i < 3; i++) assert.ok(await survives(tree))
  await clock.advance(5_001)
  for (let i = 0; i < 3; i++) assert.ok(await survives(tree))
  await clock.advance(5_000)
  assert.not(await survives(tree))
})

test('OTP-55 giving up is reported, siblings stop in reverse, exit is shutdown', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const children = ['a', 'b', 'c', 'd'].map((id) => worker(log, id))
  const tree = await startTree(t, { strategy, intensity: 0, children })
  const ended = ending(tree.ref)
  log.rest()
  ;(await workerOf(tree, 'b')).kill()
  assert.equal(await ended, shutdown)
  assert.equal(log.rest(), ['end b', 'end d', 'end c', 'end a'])
  assert.equal(
    reports.map(({ context, child, reason }) => [context, child.id, reason]),
    [
      ['child_terminated', 'b', { type: 'killed' }],
      ['shutdown', 'b', 'reached_max_restart_intensity'],
    ],
  )
})

/** A supervisor below another one, with one static child. */
async function nested(
  t: TestContext,
  restart: 'permanent' | 'transient',
  log: Recorder,
): Promise<Supervisor> {
  const inner = supervisorSpec(
    { name: 'inner', strategy, intensity: 0, children: [worker(log, 'x')] },
    { restart },
  )
  return startTree(t, { strategy, intensity: 1, children: [worker(log, 'a'), inner] })
}

async function innerOf(tree: Supervisor): Promise<{ supervisor: Supervisor; ref: ProcessRef }> {
  const ref = (await tree.children()).find(({ id }) => id === 'inner')?.ref
  if (ref === undefined) throw new Error('inner does not run')
  return { supervisor: supervisorAt(ref), ref }
}

test('OTP-56 a parent restarts a supervisor that gave up with its static children', async (t) => {
  const log = new Recorder()
  const tree = await nested(t, 'permanent', log)
  const { supervisor, ref } = await innerOf(tree)
  await supervisor.startChild(worker(log, 'added'))
  const ended = ending(ref)
  log.rest()
  ;(await workerOf(supervisor, 'x')).kill()
  assert.equal(await ended, shutdown)
  assert.equal(await log.next(3), ['end x', 'end added', 'start x'])
  const fresh = await innerOf(tree)
  assert.is.not(fresh.ref, ref)
  assert.equal(await statuses(fresh.supervisor), { x: 'running' })
  assert.is(inspect(tree.ref).restartsLeft, 0)
})

test('OTP-56 giving up climbs until a level may restart, or the root ends', async (t) => {
  const log = new Recorder()
  const tree = await nested(t, 'permanent', log)
  const ended = ending(tree.ref)
  for (let i = 0; i < 2; i++) {
    const { supervisor, ref } = await innerOf(tree)
    const gone = ending(ref)
    ;(await workerOf(supervisor, 'x')).kill()
    await gone
  }
  assert.equal(await ended, shutdown)
  assert.equal(log.rest(), ['start a', 'start x', 'end x', 'start x', 'end x', 'end a'])
})

test('OTP-57 a transient supervisor that gives up exits normally and stays dead', async (t) => {
  const log = new Recorder()
  const tree = await nested(t, 'transient', log)
  const { supervisor, ref } = await innerOf(tree)
  const ended = ending(ref)
  ;(await workerOf(supervisor, 'x')).kill()
  assert.equal(await ended, shutdown)
  assert.equal(await statuses(tree), { a: 'running', inner: 'stopped' })
  assert.is(inspect(tree.ref).restartsLeft, 1)
})

test('OTP-58 a healthy start does not reset the window', async (t) => {
  const { tree, clock } = await pair(t, { intensity: 1, periodMs: 1_000 })
  assert.ok(await survives(tree))
  await clock.advance(999)
  assert.equal(await statuses(tree), { a: 'running', b: 'running' })
  assert.not(await survives(tree))
})

test('an intensity of Infinity never gives up', async (t) => {
  const { tree } = await pair(t, { intensity: Number.POSITIVE_INFINITY })
  for (let i = 0; i < 50; i++) assert.ok(await survives(tree))
})

test.run()
