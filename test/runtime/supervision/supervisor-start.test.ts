import * as assert from 'uvu/assert'
import {
  type ActorContext,
  type ChildSpec,
  childSpec,
  createFakeClock,
  defineActor,
  ignore,
  Registry,
  startActor,
  type StartAnswer,
  startSupervisor,
  supervisorSpec,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
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

const test = suite('supervisor start')
const boom = new Error('boom')

function fails(): never {
  throw boom
}

/** A child whose start function is given as it is. */
function startedBy(
  id: string,
  start: (ctx: ActorContext) => unknown,
  rest: Partial<ChildSpec> = {},
): ChildSpec {
  return { id, ...rest, start: start as (ctx: ActorContext) => StartAnswer }
}

test('OTP-11 children start in order, each after the init of the one before is done', async (t) => {
  const log = new Recorder()
  const ready = gate()
  const slow = worker(log, 'a', {
    init: () => {
      log.note('init a')
      return ready.opened
    },
  })
  const starting = startTree(t, {
    strategy: 'one_for_one',
    children: [slow, worker(log, 'b'), worker(log, 'c')],
  })
  assert.equal(await log.next(1), ['init a'])
  await turn()
  assert.equal(log.rest(), [])
  ready.open()
  await starting
  assert.equal(log.rest(), ['start a', 'start b', 'start c'])
})

test('OTP-12 a start may answer a reference, one with an extra value, or ignore', async (t) => {
  const log = new Recorder()
  const plain = worker(log, 'a')
  const children = [
    plain,
    startedBy('b', async (ctx) => ({ ref: await worker(log, 'b').start(ctx), extra: 1 })),
    startedBy('c', () => ignore),
    startedBy('d', async () => ignore),
  ]
  const tree = await startTree(t, { strategy: 'one_for_one', children })
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'stopped', d: 'stopped' })
})

test('OTP-12 any other answer, a throw and a rejection are a failed start', async () => {
  const cases: [unknown, RegExp][] = [
    [() => 'pid', /start: expected a reference to a process, \{ ref, extra \} or ignore, got "pid"/],
    [() => undefined, /got undefined/],
    [() => ({ ref: {} }), /got an object with keys \[ref\]/],
    [fails, /boom/],
    [() => Promise.reject(boom), /boom/],
  ]
  for (const [start, message] of cases) {
    const children = [startedBy('a', start as () => unknown)]
    const error = await failure(startSupervisor({ strategy: 'one_for_one', logger: false, children }))
    assert.is(error.code, 'START_FAILED')
    assert.equal(error.data, { id: 'a' })
    assert.match(error.message, message)
  }
})

test('a start that returns a foreign process is refused', async (t) => {
  const log = new Recorder()
  const other = await startActor(defineActor({ name: 'other', init: () => 0 }), undefined, { logger: false })
  t.after(() => other.kill())
  const children = [worker(log, 'a'), startedBy('b', () => other)]
  const error = await failure(startSupervisor({ strategy: 'one_for_one', logger: false, children }))
  assert.equal((error.cause as { code: string }).code, 'BAD_RETURN')
  assert.ok(other.alive)
})

test('OTP-13 the extra value of a start is returned by startChild', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy: 'one_for_one' })
  const withExtra = startedBy('a', async (ctx) => ({
    ref: await worker(log, 'a').start(ctx),
    extra: { port: 1 },
  }))
  assert.equal((await tree.startChild(withExtra)).extra, { port: 1 })
  await tree.terminateChild('a')
  assert.equal((await tree.restartChild('a')).extra, { port: 1 })
  assert.is((await tree.startChild(worker(log, 'b'))).extra, undefined)
})

test('OTP-14 an ignored child keeps its spec without a process, unless temporary', async (t) => {
  const log = new Recorder()
  const children = [
    worker(log, 'a', { init: () => log.note('asked') }),
    startedBy('b', () => ignore),
    startedBy('c', () => ignore, { restart: 'temporary' }),
  ]
  const tree = await startTree(t, { strategy: 'one_for_one', children })
  assert.equal(await statuses(tree), { a: 'running', b: 'stopped' })
  assert.equal(await tree.count(), { specs: 2, active: 1, supervisors: 0, workers: 2 })
  assert.is((await tree.startChild(startedBy('d', () => ignore))).ref, undefined)
  assert.is((await tree.startChild(startedBy('e', () => ignore, { restart: 'temporary' }))).ref, undefined)
  assert.equal(await statuses(tree), { a: 'running', b: 'stopped', d: 'stopped' })
})

test('OTP-15 a failed init stops earlier children in reverse and tries no later ones', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const children = [worker(log, 'a'), worker(log, 'b'), worker(log, 'c', { init: fails }), worker(log, 'd')]
  const error = await failure(startSupervisor({ strategy: 'one_for_one', logger: false, children }))
  assert.equal(log.rest(), ['start a', 'start b', 'end b', 'end a'])
  assert.is(error.code, 'START_FAILED')
  assert.equal(error.data, { id: 'c' })
  assert.is(error.cause, boom)
  assert.equal(
    reports.map(({ context, child }) => [context, child.id]),
    [['start_error', 'c']],
  )
})

test('OTP-15 a nested supervisor that cannot start names its child and exits shutdown', async (t) => {
  const log = new Recorder()
  const crashes = gather(t, 'crash')
  const ends: unknown[] = []
  const inner = supervisorSpec({
    name: 'inner',
    strategy: 'one_for_one',
    children: [worker(log, 'x', { init: fails })],
  })
  const watched: ChildSpec = {
    ...inner,
    async start(ctx) {
      ctx.self.onExit((reason) => ends.push(reason.type))
      return inner.start(ctx)
    },
  }
  const children = [worker(log, 'a'), watched]
  const error = await failure(
    startSupervisor({ name: 'outer', strategy: 'one_for_one', logger: false, children }),
  )
  assert.equal(error.data, { id: 'inner' })
  assert.equal((error.cause as { data: unknown }).data, { id: 'x' })
  assert.is((error.cause as { cause: unknown }).cause, boom)
  assert.equal(log.rest(), ['start a', 'end a'])
  assert.equal(ends, ['shutdown'])
  assert.equal(
    crashes.map(({ name }) => name),
    ['x'],
  )
})

test('OTP-15 a failed start takes back names, timers and containment', async () => {
  const log = new Recorder()
  const clock = createFakeClock()
  const registry = new Registry()
  const listeners = process.listenerCount('uncaughtException')
  const children = [worker(log, 'a', { name: 'alpha' }), worker(log, 'b', { name: 'beta', init: fails })]
  await failure(startSupervisor({ strategy: 'one_for_one', logger: false, clock, registry, children }))
  assert.is(registry.state('alpha').state, 'ended')
  assert.is(registry.state('beta').state, 'ended')
  assert.is(clock.pending, 0)
  await turn()
  assert.is(process.listenerCount('uncaughtException'), listeners)
})

test('OTP-16 an init that ignores exits normally, and the child counts as ignored', async (t) => {
  const log = new Recorder()
  const idle = defineActor({
    name: 'idle',
    init(_: undefined, ctx) {
      ctx.own(() => log.note('released'))
      return ignore
    },
  })
  const crashes = gather(t, 'crash')
  const tree = await startTree(t, { strategy: 'one_for_one', children: [childSpec(idle), worker(log, 'b')] })
  assert.equal(await statuses(tree), { idle: 'stopped', b: 'running' })
  assert.equal(log.rest(), ['released', 'start b'])
  assert.equal(crashes, [])
})

test('OTP-16 ctx.stop in init is a failed start with that reason', async () => {
  const log = new Recorder()
  const children = [worker(log, 'a', { init: (ctx) => ctx.stop({ type: 'shutdown', detail: 'no licence' }) })]
  const error = await failure(startSupervisor({ strategy: 'one_for_one', logger: false, children }))
  assert.is(error.code, 'START_FAILED')
  assert.equal(error.data, { id: 'a' })
})

test('OTP-17 an init that takes too long is killed with START_TIMEOUT', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const never = new Promise(() => {})
  const slow = worker(log, 'b', {
    startTimeout: 200,
    init: (ctx) => {
      ctx.own(() => log.note('b is gone'))
      return never
    },
  })
  const starting = startSupervisor({
    strategy: 'one_for_one',
    logger: false,
    clock,
    children: [worker(log, 'a'), slow],
  })
  t.after(() => starting.catch(() => {}))
  await clock.advance(199)
  assert.equal(log.rest(), ['start a'])
  await clock.advance(1)
  const error = await failure(starting)
  assert.equal(error.data, { id: 'b' })
  assert.is((error.cause as { code: string }).code, 'START_TIMEOUT')
  assert.equal(log.rest(), ['b is gone', 'end a'])
})

test('OTP-19 a taken name fails the newcomer, names the holder and spares it', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy: 'one_for_one', children: [worker(log, 'a', { name: 'only' })] })
  const holder = await workerOf(tree, 'a')
  const error = await failure(tree.startChild(worker(log, 'b', { name: 'only' })))
  assert.is(error.code, 'START_FAILED')
  const cause = error.cause as { code: string; data: { ref: unknown } }
  assert.is(cause.code, 'ALREADY_STARTED')
  assert.is(cause.data.ref, holder)
  assert.is(await holder.call('id'), 'a')
  assert.equal(await statuses(tree), { a: 'running' })
})

test('a child that ends right after its start counts as started, then ended', async (t) => {
  const log = new Recorder()
  const once = defineActor({
    name: 'once',
    init(_: undefined, ctx) {
      log.note('start once')
      ctx.own(() => log.note('end once'))
      ctx.continue(() => ctx.stop())
      return 0
    },
  })
  const children = [childSpec(once, undefined, { restart: 'transient' }), worker(log, 'b')]
  const tree = await startTree(t, { strategy: 'one_for_one', children })
  assert.equal(await log.next(3).then((seen) => seen.sort()), ['end once', 'start b', 'start once'])
  assert.equal(await statuses(tree), { once: 'stopped', b: 'running' })
})

test('a supervisor killed while a child starts takes that child along', async () => {
  const log = new Recorder()
  const never = new Promise(() => {})
  const parts: { ctx?: ActorContext } = {}
  const stuck = worker(log, 'b', {
    init: (ctx) => {
      ctx.own(() => log.note('b is gone'))
      log.note('init b')
      return never
    },
  })
  const first = startedBy('a', (ctx) => {
    parts.ctx = ctx
    return worker(log, 'a').start(ctx)
  })
  const starting = startSupervisor({ strategy: 'one_for_one', logger: false, children: [first, stuck] })
  assert.equal(await log.next(2), ['start a', 'init b'])
  const supervisor = parts.ctx?.self
  assert.ok(supervisor)
  const ended = ending(supervisor)
  supervisor.kill()
  assert.is((await ended).type, 'killed')
  assert.equal(log.rest().sort(), ['b is gone', 'end a'])
  assert.is((await failure(starting)).code, 'START_FAILED')
})

test('OTP-12 a failed start rejects after the earlier children stopped in reverse', async (t) => {
  const log = new Recorder()
  const [stopA, stopB] = [gate(), gate()]
  const slow = (id: string, { opened }: { readonly opened: Promise<void> }): ChildSpec =>
    worker(log, id, {
      trapExit: true,
      terminate: () => {
        log.note(`stop ${id}`)
        return opened
      },
    })
  const children = [slow('a', stopA), slow('b', stopB), worker(log, 'c', { init: fails })]
  const failing = failure(startTree(t, { strategy: 'one_for_one', children })).then(() => log.note('told'))
  assert.equal(await log.next(3), ['start a', 'start b', 'stop b'])
  await turn()
  assert.equal(log.rest(), [])
  stopB.open()
  assert.equal(await log.next(2), ['end b', 'stop a'])
  await turn()
  assert.equal(log.rest(), [])
  stopA.open()
  await failing
  assert.equal(log.rest(), ['end a', 'told'])
})

test('OTP-13 what starts after an ignored child is not taken for that child', async (t) => {
  const held: ActorContext[] = []
  const registry = new Registry()
  const child = startedBy('a', (ctx) => {
    held.push(ctx)
    return ignore
  })
  const tree = await startTree(t, { strategy: 'one_for_one', children: [child], registry })
  const behaviour = defineActor({ name: 'late', init: () => ({}) })
  const ref = await held[0]?.start(behaviour, undefined, { name: 'late' })
  ref?.kill()
  await turn()
  assert.is(registry.state('late').state, 'ended')
  assert.equal(await statuses(tree), { a: 'stopped' })
})

test.run()
