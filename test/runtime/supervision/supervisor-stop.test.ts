import * as assert from 'uvu/assert'
import {
  type ActorContext,
  createFakeClock,
  kill,
  shutdown,
  shutdownWith,
  startSupervisor,
  supervisorAt,
  supervisorSpec,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, failure, gate, gather, Recorder, startTree, turn, worker, workerOf } from '../_family.js'

const test = suite('supervisor stop')
const strategy = 'one_for_one'

test('OTP-21 children stop in reverse order, one at a time, each asked with shutdown', async (t) => {
  const log = new Recorder()
  const leave = gate()
  const slow = {
    trapExit: true,
    terminate: () => {
      log.note('terminate b')
      return leave.opened
    },
  }
  const children = [worker(log, 'a'), worker(log, 'b', slow), worker(log, 'c')]
  const tree = await startTree(t, { strategy, children })
  log.rest()
  const stopping = tree.stop()
  assert.equal(await log.next(2), ['end c', 'terminate b'])
  await turn()
  assert.equal(log.rest(), [])
  leave.open()
  assert.equal(await stopping, shutdown)
  assert.equal(log.rest(), ['end b', 'end a'])
})

test('OTP-21 a child counts as stopped once its resources are released', async (t) => {
  const log = new Recorder()
  const released = gate()
  const init = (ctx: ActorContext): void =>
    void ctx.own(() => released.opened.then(() => log.note('released')))
  const tree = await startTree(t, { strategy, children: [worker(log, 'a'), worker(log, 'b', { init })] })
  log.rest()
  const stopping = tree.stop()
  assert.equal(await log.next(1), ['end b'])
  await turn()
  assert.equal(log.rest(), [])
  released.open()
  await stopping
  assert.equal(log.rest(), ['released', 'end a'])
})

test('OTP-22 brutal_kill ends a child at once as killed, without terminate', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const trapping = {
    trapExit: true,
    shutdown: 'brutal_kill' as const,
    terminate: () => log.note('terminate a'),
  }
  const tree = await startTree(t, { strategy, children: [worker(log, 'a', trapping)] })
  const ended = ending(await workerOf(tree, 'a'))
  await tree.stop()
  assert.is((await ended).type, 'killed')
  assert.equal(log.rest(), ['start a', 'end a'])
  assert.equal(reports, [])
})

test('OTP-23 shutdown infinity waits as long as it takes, for workers too', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const leave = gate()
  const slow = { trapExit: true, shutdown: 'infinity' as const, terminate: () => leave.opened }
  const tree = await startTree(t, { strategy, clock, children: [worker(log, 'a', slow)] })
  const stopping = tree.stop()
  await clock.advance(7 * 24 * 3600 * 1000)
  assert.equal(log.rest(), ['start a'])
  leave.open()
  await stopping
  assert.equal(log.rest(), ['end a'])
})

test('OTP-24 a child beyond its shutdown time is killed, and terminate is ignored', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const leave = gate()
  const late = gate<unknown>()
  const terminate = async (_: unknown, ctx: ActorContext): Promise<void> => {
    await leave.opened
    late.open(await failure((async () => ctx.self.send('late'))()))
  }
  const reports = gather(t, 'supervisor')
  const children = [worker(log, 'a'), worker(log, 'b', { trapExit: true, shutdown: 100, terminate })]
  const tree = await startTree(t, { strategy, clock, children })
  const ended = ending(await workerOf(tree, 'b'))
  const stopping = tree.stop()
  await clock.advance(99)
  assert.equal(log.rest(), ['start a', 'start b'])
  await clock.advance(1)
  assert.is((await ended).type, 'killed')
  await stopping
  assert.equal(log.rest(), ['end b', 'end a'])
  assert.equal(
    reports.map(({ context, child, reason }) => [context, child.id, (reason as { type: string }).type]),
    [['shutdown_error', 'b', 'killed']],
  )
  leave.open()
  assert.is(((await late.opened) as { code: string }).code, 'ACTOR_DEAD')
  assert.is(clock.pending, 0)
})

test('OTP-6 a shutdown of 0 ms asks and then kills at once', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const never = new Promise(() => {})
  const stuck = worker(log, 'a', {
    trapExit: true,
    shutdown: 0,
    terminate: () => {
      log.note('asked')
      return never
    },
  })
  const tree = await startTree(t, { strategy, clock, children: [stuck] })
  const ended = ending(await workerOf(tree, 'a'))
  const stopping = tree.stop()
  await clock.advance(0)
  assert.is((await ended).type, 'killed')
  await stopping
  assert.equal(log.rest(), ['start a', 'asked', 'end a'])
})

test('OTP-25 a child that unlinked itself is still stopped and awaited', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  await tree.startChild(worker(log, 'b', { trapExit: true, init: (ctx) => ctx.unlink(tree.ref) }))
  await tree.stop()
  assert.equal(log.rest(), ['start a', 'start b', 'end b', 'end a'])
})

test('OTP-26 an end other than the expected one gives a shutdown_error report', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const fails = (): never => {
    throw new Error('cannot terminate')
  }
  const dies = (_: unknown, ctx: ActorContext): void => ctx.exit(ctx.self, kill)
  const children = [
    worker(log, 'quiet'),
    worker(log, 'crashing', { trapExit: true, terminate: fails }),
    worker(log, 'killed', { trapExit: true, terminate: dies }),
    worker(log, 'brutal', { shutdown: 'brutal_kill' }),
  ]
  const tree = await startTree(t, { strategy, children })
  await tree.stop()
  const told = reports.map(({ context, child }) => [context, child.id])
  assert.equal(told, [
    ['shutdown_error', 'killed'],
    ['shutdown_error', 'crashing'],
  ])
})

test('OTP-26 a normal end while stopping is expected of a child that is not permanent', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const kinds = ['permanent', 'transient', 'temporary'] as const
  let gone: Promise<unknown> = Promise.resolve()
  const children = [
    ...kinds.map((restart) => worker(log, restart, { restart })),
    worker(log, 'last', { trapExit: true, terminate: () => gone }),
  ]
  const tree = await startTree(t, { strategy, children })
  const refs = await Promise.all(kinds.map((id) => workerOf(tree, id)))
  gone = Promise.all(refs.map(ending))
  // They end by themselves while the supervisor stops the last one: it finds them gone.
  const stopping = tree.stop()
  for (const ref of refs) ref.cast('stop')
  await stopping
  assert.equal(
    reports.map(({ context, child }) => [context, child.id]),
    [['shutdown_error', 'permanent']],
  )
})

test('OTP-28 a supervisor exits with the stop reason, its children with shutdown', async (t) => {
  const log = new Recorder()
  for (const reason of [
    { type: 'normal' as const },
    shutdownWith('deploy'),
    { type: 'crash' as const, error: 1 },
  ]) {
    const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
    const child = ending(await workerOf(tree, 'a'))
    assert.equal(await tree.ref.stop(reason), reason)
    assert.equal(await child, shutdown)
  }
})

test('OTP-29 the exit of its parent stops a supervisor, children first', async (t) => {
  const log = new Recorder()
  const inner = supervisorSpec({ name: 'inner', strategy, children: [worker(log, 'x'), worker(log, 'y')] })
  const outer = await startTree(t, { strategy, children: [inner] })
  const ended = ending((await outer.children())[0]?.ref ?? outer.ref)
  await outer.stop()
  assert.equal(await ended, shutdown)
  assert.equal(log.rest(), ['start x', 'start y', 'end y', 'end x'])
})

test('OTP-29 exit signals of other processes do not stop a supervisor', async (t) => {
  const log = new Recorder()
  const inner = supervisorSpec({ name: 'inner', strategy, children: [worker(log, 'x')] })
  const outer = await startTree(t, { strategy, children: [inner, worker(log, 'b')] })
  const [b, supervisor] = await outer.children()
  assert.ok(b?.ref && supervisor?.ref)
  const target = supervisor.ref
  target.exit({ type: 'crash', error: new Error('from outside') })
  ;(await workerOf(outer, 'b')).cast('run', (ctx) => ctx.exit(target, shutdown))
  await workerOf(outer, 'b').then((ref) => ref.call('id'))
  assert.equal(await supervisorAt(target).count(), { specs: 1, active: 1, supervisors: 0, workers: 1 })
})

test('OTP-31 a stopping supervisor restarts nothing and refuses later requests', async (t) => {
  const log = new Recorder()
  const leave = gate()
  const slow = { trapExit: true, terminate: () => leave.opened }
  const tree = await startTree(t, { strategy, children: [worker(log, 'a'), worker(log, 'b', slow)] })
  const a = await workerOf(tree, 'a')
  log.rest()
  const stopping = tree.stop()
  const asked = failure(tree.children())
  const started = failure(tree.startChild(worker(log, 'late')))
  a.cast('crash')
  assert.equal(await log.next(1), ['end a'])
  leave.open()
  assert.equal(await stopping, shutdown)
  assert.is((await asked).code, 'EXITED')
  assert.is((await started).code, 'EXITED')
  assert.equal(log.rest(), ['end b'])
  assert.is((await failure(tree.count())).code, 'NOPROC')
})

test('a stop with a timeout rejects with TIMEOUT while the supervisor still stops', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const leave = gate()
  const slow = { trapExit: true, shutdown: 'infinity' as const, terminate: () => leave.opened }
  const tree = await startSupervisor({ strategy, clock, logger: false, children: [worker(log, 'a', slow)] })
  t.after(() => tree.ref.kill())
  const ended = ending(tree.ref)
  const stopping = failure(tree.stop(50))
  await clock.advance(50)
  assert.is((await stopping).code, 'TIMEOUT')
  leave.open()
  assert.equal(await ended, shutdown)
})

test('a supervisor is stopped by `await using`, with its children', async () => {
  const log = new Recorder()
  {
    await using tree = await startSupervisor({ strategy, logger: false, children: [worker(log, 'a')] })
    assert.ok(tree.ref.alive)
  }
  assert.equal(log.rest(), ['start a', 'end a'])
})

test('a supervisor that is disposed of has ended, and its children before it', async (t) => {
  const log = new Recorder()
  const stopped = gate()
  const child = worker(log, 'a', { trapExit: true, terminate: () => stopped.opened })
  const tree = await startTree(t, { strategy: 'one_for_one', children: [child] })
  const disposed = tree[Symbol.asyncDispose]().then(() => log.note('disposed of'))
  await turn()
  stopped.open()
  await disposed
  assert.equal(log.rest(), ['start a', 'end a', 'disposed of'])
  await tree[Symbol.asyncDispose]()
})

test.run()
