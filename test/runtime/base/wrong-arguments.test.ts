import * as assert from 'uvu/assert'
import {
  asyncStream,
  awaitTask,
  childSpec,
  createFakeClock,
  defineActor,
  getState,
  multiCall,
  multiCast,
  outcomeOf,
  partitionFor,
  partitionsOf,
  partitionSupervisorSpec,
  Registry,
  replaceState,
  type RuntimeErrorCode,
  shutdownTask,
  startActor,
  startSupervisor,
  startTaskSupervisor,
  subscribe,
  supervisorSpec,
  TaskSupervisor,
  taskSupervisorAt,
  taskSupervisorSpec,
  TopicRegistry,
  trace,
  yieldTask,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, start, startHost, thrown } from '../_actors.js'

const test = suite('wrong arguments')
const times = [Number.NaN, null, 'x', {}, -1] as unknown[] as number[]
const echo = defineActor({
  name: 'echo',
  init: () => ({}),
  call: { ping: () => 'pong' },
  cast: { go: () => {} },
})

/** As a caller without types would use it. */
function untyped<Args extends unknown[], R>(fn: (...args: Args) => R): (...args: unknown[]) => R {
  return fn as unknown as (...args: unknown[]) => R
}

/** The error names the field that was wrong. */
function names(field: string, fn: () => unknown, code: RuntimeErrorCode = 'BAD_OPTION'): void {
  assert.match(thrown(fn, code).message, field)
}

async function tasksOf(t: TestContext) {
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    logger: false,
    children: [taskSupervisorSpec()],
  })
  t.after(() => tree.ref.kill())
  const tasks = taskSupervisorAt((await tree.children())[0]?.ref)
  return { tree, tasks, endless: tasks.start(() => new Promise<void>(() => {})) }
}

test('awaiting a task refuses an invalid timeout', async (t) => {
  const { endless } = await tasksOf(t)
  for (const timeout of times) {
    await rejection(awaitTask(endless, timeout), 'BAD_OPTION')
    await rejection(yieldTask(endless, timeout), 'BAD_OPTION')
  }
  assert.ok(endless.ref.alive)
})

test('awaiting a value that is no task is refused', async () => {
  for (const nothing of [null, undefined, {}, 7] as unknown as never[]) {
    await rejection(awaitTask(nothing), 'BAD_OPTION')
    await rejection(yieldTask(nothing), 'BAD_OPTION')
    await rejection(shutdownTask(nothing), 'BAD_OPTION')
    thrown(() => outcomeOf(nothing), 'BAD_OPTION')
  }
})

test('getState and replaceState refuse a wrong timeout or function', async (t) => {
  const ref = await start(t, echo)
  for (const timeout of times) {
    await rejection(
      getState(ref, () => 1, timeout),
      'BAD_OPTION',
    )
    await rejection(
      replaceState(ref, () => ({}), timeout),
      'BAD_OPTION',
    )
  }
  await rejection(untyped(getState)(ref, null), 'BAD_OPTION')
  await rejection(untyped(replaceState)(ref, 'next'), 'BAD_OPTION')
})

test('an unknown option of a call is refused for actors, names and pending names', async (t) => {
  const registry = new Registry()
  const ref = await start(t, echo, undefined, { name: 'echo', registry })
  const named = registry.named<typeof echo>('echo')
  for (const wrong of [{ timeuot: 5 }, null, 7, { timeout: null }] as unknown as { timeout: number }[]) {
    await rejection(ref.call('ping', undefined, wrong), 'BAD_OPTION')
    await rejection(named.call('ping', undefined, wrong), 'BAD_OPTION')
    await rejection(registry.named<typeof echo>('nobody').call('ping', undefined, wrong), 'BAD_OPTION')
  }
  const typo = { timeuot: 5 } as unknown as { timeout: number }
  assert.match((await rejection(ref.call('ping', undefined, typo), 'BAD_OPTION')).message, 'timeuot')
  assert.is(await ref.call('ping', undefined, { timeout: 1_000 }), 'pong')
})

test('an unknown option of a start is refused and named', async (t) => {
  const typo = { tiemout: 5, logger: false } as unknown as { logger: false }
  assert.match((await rejection(startActor(echo, undefined, typo), 'BAD_OPTION')).message, 'tiemout')
  const { ctx } = await startHost(t)
  await rejection(ctx.start(echo, undefined, { clock: createFakeClock() } as never), 'BAD_OPTION')
  await rejection(ctx.start(echo, undefined, null as never), 'BAD_OPTION')
})

test('an unknown option of a task or of a stream of tasks is refused in the caller', async (t) => {
  const { tasks } = await tasksOf(t)
  const run = untyped(tasks.start.bind(tasks))
  names('options', () => run(() => 1, null))
  names('tiemout', () => run(() => 1, { tiemout: 5 }))
  names('report', () => run(() => 1, { report: 'yes' }))
  names('maxChildren', () => new TaskSupervisor(tasks.ref, '2' as unknown as number))
  await rejection(untyped(startTaskSupervisor)(null), 'BAD_OPTION')
  const stream = untyped(asyncStream)
  const same = (item: unknown): unknown => item
  names('tasks', () => stream(null, [1], same))
  names('items', () => stream(tasks, 7, same))
  names('fn', () => stream(tasks, [1], null))
  names('options', () => stream(tasks, [1], same, null))
  names('maxconcurrency', () => stream(tasks, [1], same, { maxconcurrency: 2 }))
  names('ordered', () => stream(tasks, [1], same, { ordered: 'no' }))
  for (const timeout of times) names('timeout', () => stream(tasks, [1], same, { timeout }))
})

test('wrong overrides of a child spec are refused and named', () => {
  const spec = (overrides: unknown): unknown => untyped(childSpec)(echo, undefined, overrides)
  for (const wrong of [null, 7]) names('overrides', () => spec(wrong), 'BAD_SPEC')
  names('start', () => spec({ start: () => {} }), 'BAD_SPEC')
  names('restrat', () => spec({ restrat: 'permanent' }), 'BAD_SPEC')
  names('name', () => spec({ name: '' }), 'BAD_SPEC')
  names('startTimeout', () => spec({ startTimeout: 0 }), 'BAD_SPEC')
  const options = { strategy: 'one_for_one' } as const
  names('overrides', () => untyped(supervisorSpec)(options, null), 'BAD_SPEC')
  names('start', () => untyped(supervisorSpec)(options, { start: () => {} }), 'BAD_SPEC')
})

test('wrong options of partitions are refused and named', () => {
  const spec = untyped(partitionSupervisorSpec)
  const child = (): unknown => childSpec(echo)
  names('options', () => spec())
  names('partition', () => spec({ name: 'p', partition: 2, child }))
  names('name', () => spec({ child }))
  names('child', () => spec({ name: 'p' }))
  names('registry', () => untyped(partitionFor)(null, 'p', 1, 2))
  names('name', () => untyped(partitionFor)(new Registry(), null, 1, 2))
  names('key', () => untyped(partitionFor)(new Registry(), 'p', Object.create(null), 2))
  names('partitions', () => untyped(partitionsOf)(new Registry(), 'p', 0))
})

test('multi-messages are refused before sending if one target is no actor', async (t) => {
  const ref = await start(t, echo)
  for (const wrong of [null, 7, [ref, null], [{}]]) {
    await rejection(untyped(multiCall)(wrong, 'ping'), 'BAD_OPTION')
    thrown(() => untyped(multiCast)(wrong, 'go'), 'BAD_OPTION')
  }
  assert.is(multiCast([ref], 'go'), 1)
})

test('a callback must be a function', async (t) => {
  const { ref, ctx } = await startHost(t)
  const { tree } = await tasksOf(t)
  const topics = new TopicRegistry()
  for (const wrong of [undefined, null, 'fn', {}] as unknown as never[]) {
    thrown(() => ref.onExit(wrong), 'BAD_OPTION')
    thrown(() => tree.onExit(wrong), 'BAD_OPTION')
    thrown(() => ctx.bind(wrong), 'BAD_OPTION')
    thrown(() => ctx.clock.setTimeout(wrong, 1), 'BAD_OPTION')
    thrown(() => subscribe('crash', wrong), 'BAD_OPTION')
    thrown(() => trace(ref, wrong), 'BAD_OPTION')
    thrown(() => ctx.demonitor(wrong), 'BAD_OPTION')
    thrown(() => topics.dispatch('k', wrong), 'BAD_OPTION')
    thrown(() => topics.match('k', wrong), 'BAD_OPTION')
  }
  names('nope', () => untyped(subscribe)('nope', () => {}))
  assert.ok(ref.alive)
})

test('a fake clock refuses negative and non-finite times', async () => {
  const clock = createFakeClock(10)
  for (const ms of [...times, Number.POSITIVE_INFINITY]) await rejection(clock.advance(ms), 'BAD_OPTION')
  assert.is(clock.now(), 10)
})

test.run()
