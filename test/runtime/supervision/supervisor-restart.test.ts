import * as assert from 'uvu/assert'
import {
  type ActorContext,
  crash,
  createFakeClock,
  type ExitReason,
  normal,
  type Restart,
  shutdown,
  shutdownWith,
  supervisorSpec,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import {
  ending,
  failure,
  gate,
  gather,
  Recorder,
  startTree,
  statuses,
  turn,
  worker,
  workerOf,
} from '../_family.js'

const test = suite('supervisor restart')
const strategy = 'one_for_one'
const reasons: Record<string, ExitReason> = {
  normal,
  shutdown,
  'shutdown with detail': shutdownWith('moved'),
  crash: crash(new Error('boom')),
  'crash of undefined': crash(undefined),
  killed: { type: 'killed' },
}

/** Ends a child in each way and answers whether it was started again. */
async function restartedAfter(t: TestContext, restart: Restart): Promise<string[]> {
  const again: string[] = []
  for (const [name, reason] of Object.entries(reasons)) {
    const log = new Recorder()
    const tree = await startTree(t, { strategy, children: [worker(log, 'a', { restart })] })
    const ref = await workerOf(tree, 'a')
    if (reason.type === 'killed') ref.kill()
    else ref.cast('stop', reason)
    assert.equal(await log.next(2), ['start a', 'end a'])
    await tree.count()
    if (log.rest().includes('start a')) again.push(name)
    await tree.stop()
  }
  return again
}

test('OTP-33 a permanent child is started again for every reason', async (t) => {
  assert.equal(await restartedAfter(t, 'permanent'), Object.keys(reasons))
})

test('OTP-32 OTP-34 a transient child is started again for abnormal reasons only', async (t) => {
  assert.equal(await restartedAfter(t, 'transient'), ['crash', 'crash of undefined', 'killed'])
})

test('OTP-35 a temporary child is never started again', async (t) => {
  assert.equal(await restartedAfter(t, 'temporary'), [])
})

test('OTP-34 a normally ended transient child keeps its spec and can be restarted', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a', { restart: 'transient' })] })
  ;(await workerOf(tree, 'a')).cast('stop')
  await log.next(2)
  assert.equal(await statuses(tree), { a: 'stopped' })
  await tree.restartChild('a')
  assert.equal(await statuses(tree), { a: 'running' })
  assert.equal(log.rest(), ['start a'])
})

test('OTP-35 the spec of an ended temporary child is forgotten, and its id is free', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a', { restart: 'temporary' })] })
  for (const reason of Object.values(reasons)) {
    const ref = await workerOf(tree, 'a')
    const ended = ending(ref)
    ref.cast('stop', reason)
    await ended
    assert.equal(await tree.children(), [])
    assert.is((await failure(tree.childSpec('a'))).code, 'NOT_FOUND')
    await tree.startChild(worker(log, 'a', { restart: 'temporary' }))
  }
})

test('OTP-36 normal ends of non-permanent children report no child_terminated', async (t) => {
  const told: Record<string, string[]> = {}
  for (const restart of ['permanent', 'transient', 'temporary'] as const) {
    const log = new Recorder()
    const reports = gather(t, 'supervisor')
    const tree = await startTree(t, { strategy, intensity: 100, children: [worker(log, 'a', { restart })] })
    for (const [name, reason] of Object.entries(reasons)) {
      const { ref } = (await tree.children())[0] ?? {
        ref: (await tree.startChild(worker(log, 'a', { restart }))).ref,
      }
      if (ref === undefined) await tree.restartChild('a')
      const child = await workerOf(tree, 'a')
      const ended = ending(child)
      child.cast('stop', reason)
      await ended
      await tree.count()
      const seen = reports.splice(0)
      assert.ok(seen.every(({ context, child: { id } }) => context === 'child_terminated' && id === 'a'))
      if (seen.length > 0) told[restart] = [...(told[restart] ?? []), name]
    }
    await tree.stop()
  }
  const abnormal = ['crash', 'crash of undefined', 'killed']
  assert.equal(told, { permanent: Object.keys(reasons), transient: abnormal, temporary: abnormal })
})

test('OTP-37 an exit with normal from another process does nothing to a child', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a'), worker(log, 'b')] })
  const [a, b] = [await workerOf(tree, 'a'), await workerOf(tree, 'b')]
  a.cast('run', (ctx: ActorContext) => ctx.exit(b, normal))
  await a.call('id')
  assert.is(await b.call('id'), 'b')
  a.cast('run', (ctx: ActorContext) => ctx.exit(ctx.self, normal))
  assert.equal(await log.next(4), ['start a', 'start b', 'end a', 'start a'])
})

test('OTP-38 OTP-99 callers of a killed child get the reason at once', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  const a = await workerOf(tree, 'a')
  a.cast('run', () => new Promise(() => {}))
  const waiting = failure(a.call('id'))
  await turn()
  a.kill()
  const error = await waiting
  assert.is(error.code, 'EXITED')
  assert.is((error.data as { reason: ExitReason }).reason.type, 'killed')
  assert.is(await (await workerOf(tree, 'a')).call('id'), 'a')
})

test('OTP-39 a throw is a crash with the error, a stop keeps its reason', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a'), worker(log, 'b')] })
  const boom = new Error('boom')
  const [a, b] = [await workerOf(tree, 'a'), await workerOf(tree, 'b')]
  const ends = Promise.all([ending(a), ending(b)])
  a.cast('crash', boom)
  b.cast('stop', shutdownWith('moved'))
  assert.equal(await ends, [crash(boom), shutdownWith('moved')])
})

test('OTP-47 a failed restart is retried, and requests are served in between', async (t) => {
  const log = new Recorder()
  const health = { broken: false }
  const init = (): void => {
    log.note(health.broken ? 'try' : 'fine')
    if (health.broken) throw new Error('not yet')
  }
  const reports = gather(t, 'supervisor')
  const tree = await startTree(t, {
    strategy,
    intensity: Number.POSITIVE_INFINITY,
    children: [worker(log, 'a', { init })],
  })
  const a = await workerOf(tree, 'a')
  health.broken = true
  a.kill()
  assert.equal(await log.next(5), ['fine', 'start a', 'end a', 'try', 'try'])
  const asked: string[] = []
  for (let i = 0; i < 3; i++) asked.push((await statuses(tree)).a ?? '')
  assert.equal(asked, ['restarting', 'restarting', 'restarting'])
  health.broken = false
  while ((await statuses(tree)).a !== 'running') await turn()
  assert.equal(
    log.rest().filter((event) => event !== 'try'),
    ['fine', 'start a'],
  )
  const contexts = reports.map(({ context }) => context)
  assert.is(contexts[0], 'child_terminated')
  assert.ok(contexts.length > 2 && contexts.slice(1).every((context) => context === 'start_error'))
})

test('OTP-47 a stop is served between failing restarts', async (t) => {
  const log = new Recorder()
  const health = { broken: false }
  const init = (): void => {
    if (health.broken) throw new Error('never again')
  }
  const children = [worker(log, 'a'), worker(log, 'b', { init })]
  const tree = await startTree(t, { strategy, intensity: Number.POSITIVE_INFINITY, children })
  health.broken = true
  ;(await workerOf(tree, 'b')).kill()
  await tree.count()
  assert.equal(await tree.stop(), shutdown)
  assert.equal(log.rest(), ['start a', 'start b', 'end b', 'end a'])
})

test('OTP-87 the next incarnation starts after the resources of the last are released', async (t) => {
  const log = new Recorder()
  const released = gate()
  const parts = { first: true }
  const init = (ctx: ActorContext): void => {
    if (parts.first) ctx.own(() => released.opened.then(() => log.note('released')))
    parts.first = false
  }
  const tree = await startTree(t, { strategy, children: [worker(log, 'a', { init })] })
  ;(await workerOf(tree, 'a')).cast('crash')
  assert.equal(await log.next(2), ['start a', 'end a'])
  await turn()
  assert.equal(log.rest(), [])
  released.open()
  assert.equal(await log.next(2), ['released', 'start a'])
})

test('OTP-87 the next incarnation waits for releases 5 s at most, then reports it', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const notices = gather(t, 'notice')
  const init = (ctx: ActorContext): void => void ctx.own(() => new Promise(() => {}))
  const tree = await startTree(t, { strategy, clock, children: [worker(log, 'a', { init })] })
  ;(await workerOf(tree, 'a')).cast('crash')
  await clock.advance(4_999)
  assert.equal(log.rest(), ['start a', 'end a'])
  await clock.advance(1)
  assert.equal(log.rest(), ['start a'])
  assert.equal(
    notices.map(({ name, notice, detail }) => [name, notice, detail]),
    [['a', 'cleanup_timeout', 5_000]],
  )
})

test('OTP-87 a supervisor restarts after its children have released everything', async (t) => {
  const log = new Recorder()
  const leave = gate()
  const owner = (ctx: ActorContext): void => void ctx.own(() => leave.opened.then(() => log.note('released')))
  const tree = await startTree(t, { strategy, children: [] })
  const slow = { trapExit: true, terminate: () => log.note('terminate y') }
  const children = [worker(log, 'x', { init: owner }), worker(log, 'y', slow)]
  const { ref } = await tree.startChild(supervisorSpec({ strategy, children }, { id: 'inner' }))
  assert.equal(log.rest(), ['start x', 'start y'])
  ref?.kill()
  assert.equal((await log.next(3)).sort(), ['end x', 'end y', 'terminate y'])
  await turn()
  assert.equal(log.rest(), [])
  leave.open()
  assert.equal(await log.next(3), ['released', 'start x', 'start y'])
})

test('a supervisor killed while it restarts a child starts nothing afterwards', async (t) => {
  const log = new Recorder()
  const released = gate()
  const reports = gather(t, 'supervisor')
  const init = (ctx: ActorContext): void => void ctx.own(() => released.opened)
  const spec = worker(log, 'a', { init })
  const start: typeof spec.start = (ctx) => {
    log.note('asked')
    return spec.start(ctx)
  }
  const tree = await startTree(t, { strategy, children: [{ ...spec, start }] })
  ;(await workerOf(tree, 'a')).cast('crash')
  assert.equal(await log.next(3), ['asked', 'start a', 'end a'])
  await turn()
  tree.ref.kill()
  reports.splice(0)
  released.open()
  await turn()
  await turn()
  assert.equal(log.rest(), [])
  assert.equal(reports, [])
})

test('a child that restarts counts its restarts, one started by hand does not', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  ;(await workerOf(tree, 'a')).kill()
  await log.next(3)
  await tree.terminateChild('a')
  await tree.restartChild('a')
  assert.is((await tree.children())[0]?.restarts, 1)
})

test('OTP-36 a child that is killed is reported, whatever its restart kind', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const kinds: Restart[] = ['permanent', 'transient', 'temporary']
  const children = kinds.map((restart) => worker(log, restart, { restart }))
  const tree = await startTree(t, { strategy, children })
  for (const { ref } of await tree.children()) ref?.kill()
  await tree.count()
  assert.equal(reports.map(({ child }) => child.id).sort(), ['permanent', 'temporary', 'transient'])
})

test.run()
