import * as assert from 'uvu/assert'
import {
  type ActorContext,
  createFakeClock,
  defineActor,
  getState,
  type ProcessRef,
  Registry,
  shutdown,
  startActor,
  TopicRegistry,
} from 'caduceus/runtime'
import { Recording } from 'caduceus/testing'
import { processOf } from '../../runtime/process/ref.js'
import { countedClock, countedSignal } from '../support/counted.js'
import { suite } from '../support/suite.js'
import { startHost } from './_actors.js'
import { ending, failure, gate, gather, Recorder, startTree, turn, worker, workerOf } from './_family.js'
import { gated } from './_names.js'
import { place } from './tasks/_tasks.js'

const test = suite('what is begun is undone')
const strategy = 'one_for_one'
const rounds = 200

test('OTP-23 a child with infinite shutdown is waited for and not killed', async (t) => {
  const log = new Recorder()
  const leave = gate()
  const clock = createFakeClock()
  const slow = { shutdown: 'infinity' as const, trapExit: true, terminate: () => leave.opened }
  const tree = await startTree(t, { strategy, clock, children: [worker(log, 'a', slow)] })
  const ended = ending(await workerOf(tree, 'a'))
  const stopping = tree.stop()
  await clock.advance(10 * 24 * 3_600_000)
  assert.is(clock.pending, 0)
  assert.equal(log.rest(), ['start a'])
  leave.open()
  assert.equal(await ended, shutdown)
  await stopping
})

test('OTP-23 a child that ends in time leaves no timer, a late one is killed', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const slow = { shutdown: 1_000, trapExit: true, terminate: () => new Promise(() => {}) }
  const tree = await startTree(t, { strategy, clock, children: [worker(log, 'a', slow)] })
  const quick = worker(log, 'b', { shutdown: 1_000 })
  for (let round = 0; round < rounds; round++) {
    await tree.startChild(quick)
    await tree.terminateChild('b')
    await tree.deleteChild('b')
  }
  assert.is(clock.pending, 0)
  const ended = ending(await workerOf(tree, 'a'))
  log.rest()
  const stopping = tree.stop()
  await clock.advance(999)
  assert.equal(log.rest(), [])
  await clock.advance(1)
  assert.equal(await ended, { type: 'killed' })
  await stopping
})

test('a late throw or rejection of a stopped task is not reported', async (t) => {
  const { tasks } = await place(t)
  const crashes = gather(t, 'crash')
  const later = gate<string>()
  const stopped = tasks.start(() => later.opened.then(() => Promise.reject(new Error('too late'))))
  const started = tasks.start(() => later.opened)
  stopped.cancel()
  assert.is((await failure(stopped.result)).code, 'EXITED')
  later.open('value')
  assert.is(await started.result, 'value')
  await turn()
  assert.equal(crashes, [])
  assert.is(tasks.running, 0)
})

test('OTP-94 a second idleAfter replaces the first, also within one message', async (t) => {
  const clock = createFakeClock()
  const heard: number[] = []
  const waiter = defineActor({
    name: 'waiter',
    init: () => ({}),
    cast: {
      wait(_, times: readonly number[], ctx) {
        for (const ms of times) ctx.idleAfter(ms)
      },
    },
    info: { timeout: () => void heard.push(clock.now()) },
  })
  const ref = await startActor(waiter, undefined, { logger: false, clock })
  t.after(() => ref.kill())
  ref.cast('wait', [10, 20, 30])
  await turn()
  assert.is(clock.pending, 1)
  await clock.advance(100)
  assert.equal(heard, [30])
  assert.is(clock.pending, 0)
})

test('cancelled idle times and timers are released', async () => {
  const clock = countedClock()
  const held: ActorContext[] = []
  const owner = defineActor({
    name: 'owner',
    init: (_: undefined, ctx) => void held.push(ctx),
    call: { done: () => true },
    cast: { idle: (_, ms: number, ctx) => ctx.idleAfter(ms), note: () => {} },
    info: { timeout: () => {}, timer: () => {} },
  })
  const ref = await startActor(owner, undefined, { logger: false, clock })
  for (let round = 0; round < rounds; round++) {
    ref.cast('idle', 10)
    ref.cast('note')
    held[0]?.sendAfter(5, 'x').cancel()
    held[0]?.clock.clearTimeout(held[0].clock.setTimeout(() => {}, 5))
  }
  await ref.call('done')
  assert.is(clock.pending, 0)
  const before = clock.cleared
  ref.kill()
  await turn()
  assert.is(clock.cleared - before, 0) // what is still owned is taken back at the end of its owner
})

test('a wait for a name uses the clock of its tree and leaves no timer', async (t) => {
  const log = new Recorder()
  const clock = countedClock()
  const registry = new Registry()
  const { plan, spec } = gated(log, 'a')
  const tree = await startTree(t, { strategy, registry, clock, children: [spec] })
  const ready = gate()
  plan.wait = ready.opened
  ;(await workerOf(tree, 'a')).kill()
  const waits = Array.from({ length: rounds }, () => failure(registry.whenUp('a', 50)))
  const last = registry.whenUp('a', 100)
  await clock.advance(49)
  const pending = clock.pending
  await clock.advance(1)
  for (const wait of waits) assert.is((await wait).code, 'TIMEOUT')
  assert.is(clock.pending, pending - rounds)
  const before = clock.cleared
  ready.open()
  assert.is(await last, await workerOf(tree, 'a'))
  assert.ok(clock.cleared - before <= 2) // of the start and the last wait: those that are over are not looked at again
})

test('a wait ends with the reason of its signal and removes its listener', async () => {
  const clock = createFakeClock()
  const { signal, listeners, abort } = countedSignal()
  const recording = new Recording<number>('numbers')
  const cut = recording.next(undefined, { clock, signal }).catch((error: unknown) => error)
  const late = recording.next((n) => n > 5, { clock, timeout: 10, signal }).catch((error: unknown) => error)
  assert.is(listeners(), 2)
  await clock.advance(10)
  assert.is(((await late) as { code?: string }).code, 'TIMEOUT')
  assert.is(listeners(), 1)
  abort('enough')
  assert.is(await cut, 'enough')
  assert.is(listeners(), 0)
  assert.is(clock.pending, 0)
})

test('an actor retains no former waiter or watcher', async (t) => {
  const clock = createFakeClock()
  const busy = gate()
  const behaviour = defineActor({
    name: 'busy',
    trapExit: true,
    terminateTimeout: Number.POSITIVE_INFINITY,
    init: () => ({}),
    cast: { wait: () => busy.opened },
    terminate: () => new Promise(() => {}),
  })
  const ref = await startActor(behaviour, undefined, { clock, logger: false })
  const stopping = await startActor(behaviour, undefined, { clock, logger: false })
  t.after(() => ref.kill())
  t.after(() => stopping.kill())
  const watchers = (of: ProcessRef = ref): number => processOf(of).monitors?.size ?? 0
  const before = watchers()
  await getState(ref)
  assert.is(watchers(), before)
  ref.cast('wait')
  await turn()
  const late = [failure(getState(ref, (state) => state, 10)), failure(stopping.stop(shutdown, 10))]
  const inTime = getState(ref)
  assert.equal([watchers(), watchers(stopping)], [before + 2, before + 1])
  await clock.advance(10)
  for (const error of await Promise.all(late)) assert.is(error.code, 'TIMEOUT')
  assert.equal([watchers(), watchers(stopping)], [before + 1, before])
  busy.open()
  await inTime
  assert.is(watchers(), before)
  const topics = new TopicRegistry<number>()
  const undo = [topics.register('a', ref, 1), topics.register('b', ref, 2)]
  assert.is(watchers(), before + 1)
  for (const each of undo) each()
  assert.is(watchers(), before)
})

test('a watcher retains nothing of the watched', async (t) => {
  const watcher = await startHost(t)
  const watched = await startHost(t)
  const watching = (): number => processOf(watcher.ref).extras?.watching.size ?? 0
  const before = watching()
  const monitor = watcher.ctx.monitor(watched.ref)
  watcher.ctx.monitor(watched.ref)
  assert.is(watching(), before + 2)
  watcher.ctx.demonitor(monitor)
  assert.is(watching(), before + 1)
  watched.ref.kill()
  await watcher.downs.next(1)
  assert.is(watching(), before)
})

test('a timed out wait of a recorder takes nothing from the next', async () => {
  const clock = createFakeClock()
  const recording = new Recording<string>('a test')
  const late = failure(recording.next(() => true, { clock, timeout: 10 }))
  await clock.advance(10)
  assert.is((await late).code, 'TIMEOUT')
  recording.add('first')
  assert.is(await recording.next(() => true, { clock }), 'first')
})

test.run()
