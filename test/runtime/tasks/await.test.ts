import * as assert from 'uvu/assert'
import {
  type ActorRef,
  asyncStream,
  awaitTask,
  createFakeClock,
  outcomeOf,
  RuntimeError,
  shutdownTask,
  startSupervisor,
  type TaskSupervisor,
  taskSupervisorSpec,
  yieldTask,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('task await')

async function startTasks(t: { after(undo: () => unknown): void }) {
  const clock = createFakeClock()
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, clock })
  t.after(() => tree.stop())
  const { extra } = await tree.startChild(taskSupervisorSpec())
  return { clock, tasks: extra as TaskSupervisor }
}

const never = (): Promise<never> => new Promise(() => {})

test('OTP-79 await hands out the value', async (t) => {
  const { tasks } = await startTasks(t)
  assert.is(await awaitTask(tasks.start(() => 7)), 7)
})

test('OTP-79 await rejects with what the task threw', async (t) => {
  const { tasks } = await startTasks(t)
  const task = tasks.start(() => Promise.reject(new Error('no luck')), { report: false })
  const error = await awaitTask(task).catch((error) => error)
  assert.is(error.message, 'no luck')
})

test('OTP-79 an await that times out ends the task and drops a later value', async (t) => {
  const { tasks, clock } = await startTasks(t)
  const task = tasks.start(never)
  const waiting = awaitTask(task, 100).catch((error) => error)
  await clock.advance(100)
  const error = await waiting
  assert.is(error.code, 'TIMEOUT')
  assert.not(task.ref.alive)
})

test('OTP-79 yield answers undefined while the task runs and may be asked again', async (t) => {
  const { tasks, clock } = await startTasks(t)
  let finish: (value: number) => void = () => {}
  const task = tasks.start(() => new Promise<number>((resolve) => (finish = resolve)))
  const first = yieldTask(task, 10)
  await clock.advance(10)
  assert.is(await first, undefined)
  finish(3)
  assert.equal(await yieldTask(task, 10), { type: 'ok', value: 3 })
})

test('OTP-79 shutdown ends a running task and answers the result of an ended one', async (t) => {
  const { tasks } = await startTasks(t)
  const running = tasks.start(never)
  assert.is(await shutdownTask(running), undefined)
  assert.not(running.ref.alive)
  const done = tasks.start(() => 'done')
  await done.result
  assert.equal(await shutdownTask(done, 'brutal_kill'), { type: 'ok', value: 'done' })
})

test('shutdown waits until what the task owned is released', async (t) => {
  const { tasks } = await startTasks(t)
  const steps: string[] = []
  const task = tasks.start((ctx) => {
    ctx.own(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      steps.push('released')
    })
    return never()
  })
  await shutdownTask(task)
  assert.equal(steps, ['released'])
})

test('shutdown refuses an unknown way in the caller', async (t) => {
  const { tasks } = await startTasks(t)
  const task = tasks.start(never)
  const error = await shutdownTask(task, 'soon' as never).catch((error) => error)
  assert.is(error.code, 'BAD_OPTION')
  assert.match(error.message, 'brutal_kill')
})

test('OTP-80 async_stream keeps item order and its concurrency limit', async (t) => {
  const { tasks } = await startTasks(t)
  let atOnce = 0
  let most = 0
  const seen: number[] = []
  const double = async (item: number): Promise<number> => {
    most = Math.max(most, ++atOnce)
    for (let i = 0; i < 5 - item; i++) await null
    atOnce -= 1
    return item * 2
  }
  for await (const outcome of asyncStream(tasks, [1, 2, 3, 4, 5], double, { maxConcurrency: 2 })) {
    if (outcome.type === 'ok') seen.push(outcome.value)
  }
  assert.equal(seen, [2, 4, 6, 8, 10])
  assert.is(most, 2)
})

test('OTP-80 unordered async_stream yields outcomes as they are ready', async (t) => {
  const { tasks } = await startTasks(t)
  const gates = new Map<string, () => void>()
  const wait = (item: string) => new Promise<string>((resolve) => gates.set(item, () => resolve(item)))
  const stream = asyncStream(tasks, ['slow', 'fast'], wait, { ordered: false, maxConcurrency: 2 })
  const first = stream.next()
  await new Promise((resolve) => setImmediate(resolve))
  gates.get('fast')?.()
  assert.equal((await first).value, { type: 'ok', value: 'fast' })
  gates.get('slow')?.()
  assert.equal((await stream.next()).value, { type: 'ok', value: 'slow' })
  assert.ok((await stream.next()).done)
})

test('OTP-80 a task timeout ends the stream, or with kill_task the task only', async (t) => {
  const { tasks, clock } = await startTasks(t)
  const hang = (item: number) => (item === 1 ? never() : item)
  const strict = asyncStream(tasks, [1, 2], hang, { timeout: 50 }).next()
  const strictError = strict.catch((error) => error)
  await clock.advance(50)
  assert.is((await strictError).code, 'TIMEOUT')
  const alone = asyncStream(tasks, [1, 2], hang, { timeout: 50, maxConcurrency: 1 }).next()
  const aloneError = alone.catch((error) => error)
  await clock.advance(50)
  assert.is((await aloneError).code, 'TIMEOUT')
  const lenient = asyncStream(tasks, [1, 2], hang, { timeout: 50, onTimeout: 'kill_task' })
  const first = lenient.next()
  await clock.advance(50)
  const outcome = (await first).value
  assert.is(outcome?.type, 'exit')
  assert.equal((await lenient.next()).value, { type: 'ok', value: 2 })
  await lenient.return()
  assert.is(tasks.running, 0)
})

test('OTP-80 a consumer that stops early leaves no task behind', async (t) => {
  const { tasks } = await startTasks(t)
  const signals: AbortSignal[] = []
  const work = (item: number, ctx: { signal: AbortSignal }) => {
    signals.push(ctx.signal)
    return item === 0 ? 0 : never()
  }
  for await (const outcome of asyncStream(tasks, [0, 1, 2], work, { maxConcurrency: 3 })) {
    assert.equal(outcome, { type: 'ok', value: 0 })
    break
  }
  assert.is(tasks.running, 0)
  assert.ok(signals.slice(1).every((signal) => signal.aborted))
})

test('OTP-80 a crash fails its own item only', async (t) => {
  const { tasks } = await startTasks(t)
  const outcomes: string[] = []
  const work = (item: number) => {
    if (item === 2) throw new Error('two')
    return item
  }
  for await (const outcome of asyncStream(tasks, [1, 2, 3], work)) outcomes.push(outcome.type)
  assert.equal(outcomes, ['ok', 'exit', 'ok'])
})

test('outcomeOf never rejects', async (t) => {
  const { tasks } = await startTasks(t)
  const task = tasks.start(never)
  task.cancel()
  const outcome = await outcomeOf(task)
  assert.ok(outcome.type === 'exit' && outcome.error instanceof RuntimeError)
})

test('an ended task supervisor refuses tasks in the caller', async () => {
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false })
  const { extra, ref } = await tree.startChild(taskSupervisorSpec())
  await tree.stop()
  assert.not((ref as ActorRef).alive)
  assert.throws(
    () => (extra as TaskSupervisor).start(() => 1),
    (error: RuntimeError) => error.code === 'NOPROC',
  )
})

test('OTP-79 shutdown takes any time from 0 on', async (t) => {
  const { tasks } = await startTasks(t)
  assert.is(await shutdownTask(tasks.start(never), 0), undefined)
  assert.is((await shutdownTask(tasks.start(never), -1).catch((error) => error)).code, 'BAD_OPTION')
})

test.run()
