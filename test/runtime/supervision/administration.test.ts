import * as assert from 'uvu/assert'
import {
  type ActorContext,
  type ActorRef,
  childSpec,
  defineActor,
  type RefOf,
  startDynamicSupervisor,
  type Supervisor,
  supervisorAt,
  supervisorSpec,
} from 'caduceus/runtime'
import type { Actor } from '../../../runtime/process/actor.js'
import { callActor, ProcessRef, processOf } from '../../../runtime/process/ref.js'
import { suite } from '../../support/suite.js'
import {
  ending,
  failure,
  gate,
  Recorder,
  startTree,
  statuses,
  thrown,
  turn,
  worker,
  workerOf,
} from '../_family.js'

const test = suite('administration')
const strategy = 'one_for_one'

test('OTP-63 a child started at run time is last in start order', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy: 'one_for_all', children: [worker(log, 'a'), worker(log, 'b')] })
  const { ref } = await tree.startChild(worker(log, 'c'))
  assert.is(ref, await workerOf(tree, 'c'))
  log.rest()
  ;(await workerOf(tree, 'a')).kill()
  assert.equal(await log.next(6), ['end a', 'end c', 'end b', 'start a', 'start b', 'start c'])
  await tree.stop()
  assert.equal(log.rest(), ['end c', 'end b', 'end a'])
})

test('OTP-63 a running id is ALREADY_STARTED, a stopped one ALREADY_PRESENT', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  const running = await failure(tree.startChild(worker(log, 'a')))
  assert.is(running.code, 'ALREADY_STARTED')
  assert.is((running.data as { ref: unknown }).ref, await workerOf(tree, 'a'))
  await tree.terminateChild('a')
  assert.is((await failure(tree.startChild(worker(log, 'a')))).code, 'ALREADY_PRESENT')
  assert.equal(log.rest(), ['start a', 'end a'])
})

test('startChild with a failing start keeps no spec and rejects', async (t) => {
  const boom = new Error('boom')
  const fails = (): never => {
    throw boom
  }
  const log = new Recorder()
  const tree = await startTree(t, { strategy, intensity: 0, children: [worker(log, 'a')] })
  const error = await failure(tree.startChild(worker(log, 'b', { init: fails })))
  assert.is(error.code, 'START_FAILED')
  assert.equal(error.data, { id: 'b' })
  assert.is(error.cause, boom)
  assert.equal(await statuses(tree), { a: 'running' })
  await tree.startChild(worker(log, 'b'))
})

test('OTP-64 terminateChild keeps the spec; stopped is fine; unknown is NOT_FOUND', async (t) => {
  const log = new Recorder()
  const children = [
    worker(log, 'a'),
    worker(log, 'b', { restart: 'temporary' }),
    worker(log, 'c', { restart: 'transient' }),
  ]
  const tree = await startTree(t, { strategy, children })
  for (const id of ['a', 'b', 'c']) await tree.terminateChild(id)
  await tree.terminateChild('a')
  assert.equal(await statuses(tree), { a: 'stopped', c: 'stopped' })
  const error = await failure(tree.terminateChild('b'))
  assert.is(error.code, 'NOT_FOUND')
  assert.match(error.message, 'expected the id of a child among [a, c], got "b"')
  assert.equal(log.rest(), ['start a', 'start b', 'start c', 'end a', 'end b', 'end c'])
})

test('OTP-64 terminateChild takes a child out of the restart loop', async (t) => {
  const log = new Recorder()
  const health = { broken: false }
  const init = (): void => {
    if (!health.broken) return
    log.note('try')
    throw new Error('broken')
  }
  const tree = await startTree(t, {
    strategy,
    intensity: Number.POSITIVE_INFINITY,
    children: [worker(log, 'a', { init })],
  })
  health.broken = true
  ;(await workerOf(tree, 'a')).kill()
  await log.next(3)
  await tree.terminateChild('a')
  log.rest()
  await turn()
  assert.equal(log.rest(), [])
  assert.equal(await statuses(tree), { a: 'stopped' })
})

test('OTP-65 OTP-66 restartChild and deleteChild need a stopped child', async (t) => {
  const log = new Recorder()
  const health = { broken: false }
  const init = (): void => {
    if (health.broken) throw new Error('broken')
  }
  const children = [worker(log, 'a'), worker(log, 'b', { init })]
  const tree = await startTree(t, { strategy, intensity: Number.POSITIVE_INFINITY, children })
  health.broken = true
  ;(await workerOf(tree, 'b')).kill()
  await turn()
  for (const ask of [(id: string) => tree.restartChild(id), (id: string) => tree.deleteChild(id)]) {
    assert.is((await failure(ask('a'))).code, 'RUNNING')
    assert.is((await failure(ask('b'))).code, 'RESTARTING')
    assert.is((await failure(ask('z'))).code, 'NOT_FOUND')
  }
  await tree.terminateChild('b')
  const error = await failure(tree.restartChild('b'))
  assert.is(error.code, 'START_FAILED')
  assert.equal(error.data, { id: 'b' })
  assert.equal(await statuses(tree), { a: 'running', b: 'stopped' })
  health.broken = false
  assert.is((await tree.restartChild('b')).ref, await workerOf(tree, 'b'))
  await tree.terminateChild('b')
  await tree.deleteChild('b')
  assert.equal(await statuses(tree), { a: 'running' })
})

test('OTP-67 children lists newest first, with a reference only while it runs', async (t) => {
  const log = new Recorder()
  const inner = supervisorSpec({ strategy, children: [] }, { id: 's' })
  const tree = await startTree(t, { strategy, children: [worker(log, 'a'), inner, worker(log, 'b')] })
  await tree.terminateChild('a')
  const listed = await tree.children()
  assert.equal(
    listed.map(({ id, status, type, restarts, ref }) => [
      id,
      status,
      type,
      restarts,
      ref instanceof ProcessRef,
    ]),
    [
      ['b', 'running', 'worker', 0, true],
      ['s', 'running', 'supervisor', 0, true],
      ['a', 'stopped', 'worker', 0, false],
    ],
  )
  assert.equal(await tree.count(), { specs: 3, active: 2, supervisors: 1, workers: 2 })
})

test('OTP-68 childSpec shows a spec with all defaults filled in', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a', { shutdown: 10 })] })
  const { start, ...fields } = await tree.childSpec('a')
  assert.equal(fields, { id: 'a', restart: 'permanent', shutdown: 10, type: 'worker', significant: false })
  assert.type(start, 'function')
  assert.is((await failure(tree.childSpec('b'))).code, 'NOT_FOUND')
})

test('OTP-70 requests are served one by one behind a slow init', async (t) => {
  const log = new Recorder()
  const ready = gate()
  const tree = await startTree(t, { strategy })
  const starting = tree.startChild(worker(log, 'slow', { init: () => ready.opened }))
  const counted = tree.count().then(({ active }) => log.note(`counted ${active}`))
  await turn()
  assert.equal(log.rest(), [])
  ready.open()
  await Promise.all([starting, counted])
  assert.equal(log.rest(), ['start slow', 'counted 1'])
})

test('OTP-71 a child that calls its supervisor from init waits for its start timeout', async (t) => {
  const log = new Recorder()
  const parts: { tree?: Supervisor } = {}
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  parts.tree = tree
  const asks = worker(log, 'b', { startTimeout: 20, init: () => parts.tree?.count() })
  const error = await failure(tree.startChild(asks))
  assert.is((error.cause as { code: string }).code, 'START_TIMEOUT')
  assert.equal(await statuses(tree), { a: 'running' })
})

test('OTP-71 a start function that calls its supervisor is refused', async (t) => {
  const parts: { tree?: Supervisor } = {}
  const tree = await startTree(t, { strategy })
  parts.tree = tree
  const idle = defineActor({ name: 'idle', init: () => 0 })
  const start = async (ctx: ActorContext): Promise<ActorRef> => {
    await parts.tree?.count()
    return ctx.start(idle)
  }
  const error = await failure(tree.startChild({ id: 'a', start }))
  assert.is((error.cause as { code: string }).code, 'CALLING_SELF')
})

test('a supervisor handle is one incarnation: after its end NOPROC', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, {
    strategy,
    children: [supervisorSpec({ name: 'inner', strategy, children: [worker(log, 'x')] })],
  })
  const ref = (await tree.children())[0]?.ref
  assert.ok(ref)
  const inner = supervisorAt(ref)
  const ended = ending(ref)
  ref.kill()
  await ended
  await tree.count()
  for (const request of [
    inner.count(),
    inner.children(),
    inner.terminateChild('x'),
    inner.startChild(worker(log, 'y')),
  ]) {
    assert.is((await failure(request)).code, 'NOPROC')
  }
  assert.equal(await statuses(tree), { inner: 'running' })
})

test('supervisorAt refuses other actors and dynamic supervisors', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  const dynamic = await startDynamicSupervisor({ logger: false })
  t.after(() => dynamic.ref.kill())
  for (const ref of [await workerOf(tree, 'a'), dynamic.ref, 'tree', undefined]) {
    assert.is(thrown(() => supervisorAt(ref as ProcessRef)).code, 'BAD_OPTION')
  }
  assert.is((await supervisorAt(tree.ref).count()).active, 1)
})

test('a rejected request that nobody awaits is never fatal', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  tree.startChild(worker(log, 'a'))
  tree.startChild({} as never)
  tree.restartChild('a')
  tree.deleteChild('z')
  tree.childSpec('z')
  await tree.count()
  const pending = [tree.children(), tree.count(), tree.terminateChild('a')]
  tree.ref.kill()
  await turn()
  assert.is(pending.length, 3)
})

test('foreign messages do not disturb a supervisor', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  for (const message of ['hello', undefined, { type: 'retry' }]) tree.ref.send(message)
  const error = await failure(callActor(processOf(tree.ref) as Actor, 'restart', 'a', {}))
  assert.is(error.code, 'BAD_MESSAGE')
  assert.equal(await statuses(tree), { a: 'running' })
})

test('exits that arrive during a slow terminateChild are not lost', async (t) => {
  const log = new Recorder()
  const leave = gate()
  const slow = {
    trapExit: true,
    terminate: () => {
      log.note('terminate b')
      return leave.opened
    },
  }
  const tree = await startTree(t, { strategy, children: [worker(log, 'a'), worker(log, 'b', slow)] })
  const a = await workerOf(tree, 'a')
  log.rest()
  const terminated = tree.terminateChild('b')
  assert.equal(await log.next(1), ['terminate b'])
  a.kill()
  leave.open()
  await terminated
  assert.equal(await log.next(3), ['end a', 'end b', 'start a'])
})

test('a worker can be started from the spec of its behaviour with input', async (t) => {
  const echo = defineActor({
    name: 'echo',
    init: (input: { word: string }) => input,
    call: { word: ({ word }) => word },
  })
  const tree = await startTree(t, { strategy, children: [childSpec(echo, { word: 'hello' })] })
  const ref = (await tree.children())[0]?.ref as RefOf<typeof echo>
  assert.is(await ref.call('word'), 'hello')
})

test.run()
