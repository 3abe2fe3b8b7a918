import * as assert from 'uvu/assert'
import {
  crash,
  createFakeClock,
  defineActor,
  normal,
  type ProcessRef,
  shutdown,
  type TaskContext,
  TaskSupervisor,
  taskSupervisorAt,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, failure, gate, gather, thrown, turn } from '../_family.js'
import { place, reasonOf } from './_tasks.js'

const test = suite('tasks')
const boom = new Error('boom')
const never = new Promise<never>(() => {})

test('OTP-78 a task runs at once, gives its value and ends normally', async (t) => {
  const { tasks } = await place(t)
  const ran: number[] = []
  const sync = tasks.start(() => ran.push(1))
  assert.equal(ran, [1])
  const slow = tasks.start(async () => {
    await turn()
    return 'later'
  })
  const ends = [ending(sync.ref), ending(slow.ref)]
  assert.is(await sync.result, 1)
  assert.is(await slow.result, 'later')
  assert.equal(await Promise.all(ends), [{ type: 'noproc' }, normal])
  assert.is(tasks.running, 0)
})

test('a result is the same before the end of the task, long after it and twice', async (t) => {
  const { tasks } = await place(t)
  const go = gate<string>()
  const waiting = tasks.start(() => go.opened)
  const early = waiting.result
  const failed = tasks.start(() => Promise.reject(boom), { report: false })
  const cancelled = tasks.start(() => never)
  cancelled.cancel()
  go.open('done')
  await turn()
  assert.equal([await early, await waiting.result], ['done', 'done'])
  assert.is(waiting.result, early)
  assert.is(await failed.result.catch((error) => error), boom)
  assert.is((await failure(cancelled.result)).code, 'EXITED')
})

test('OTP-78 what the function throws rejects the result and is the reason of its end', async (t) => {
  const { tasks, tree } = await place(t)
  const crashes = gather(t, 'crash')
  for (const fn of [
    () => {
      throw boom
    },
    () => Promise.reject(boom),
    async () => {
      await turn()
      return Promise.reject(boom)
    },
  ]) {
    const task = tasks.start(fn, { name: 'request' })
    assert.is(await task.result.catch((error) => error), boom)
    assert.equal(task.ref.reason, crash(boom))
  }
  assert.equal(
    crashes.map(({ name, during, ancestors }) => [name, during, ancestors]),
    Array.from({ length: 3 }, () => ['request', 'task', ['task_supervisor', 'supervisor']]),
  )
  assert.ok(tree.ref.alive)
})

test('a silenced task does not report errors, and an unawaited result is not fatal', async (t) => {
  const { tasks } = await place(t)
  const crashes = gather(t, 'crash')
  tasks.start(() => Promise.reject(boom), { report: false })
  tasks.start(() => Promise.reject(undefined))
  await turn()
  assert.equal(
    crashes.map(({ reason }) => reason),
    [crash(undefined)],
  )
})

test('OTP-78 tasks are never restarted and send their supervisor nothing', async (t) => {
  const { tasks, tree } = await place(t)
  const sent: unknown[] = []
  const notices = gather(t, 'notice')
  const reports = gather(t, 'supervisor')
  for (let i = 0; i < 100; i++) sent.push(tasks.start(() => Promise.reject(boom)).result.catch(() => i))
  await Promise.all(sent)
  await turn()
  assert.equal([...notices, ...reports], [])
  assert.ok(tasks.ref.alive)
  assert.is((await tree.count()).active, 2)
})

test('cancel aborts the signal, releases resources and rejects with EXITED', async (t) => {
  const { tasks, log } = await place(t)
  const task = tasks.start((ctx) => {
    ctx.own(() => log.note('released'))
    ctx.signal.addEventListener('abort', () => log.note(`aborted: ${(ctx.signal.reason as Error).name}`))
    return never
  })
  assert.is(tasks.running, 1)
  task.cancel()
  assert.equal(log.rest(), ['aborted: AbortError', 'released'])
  const error = await failure(task.result)
  assert.is(error.code, 'EXITED')
  assert.equal(reasonOf(error), shutdown)
  assert.is(tasks.running, 0)
  task.cancel()
})

test('late actions of a cancelled task are refused and counted', async (t) => {
  const { tasks, tree, neighbour } = await place(t)
  const go = gate()
  const seen = gate<string[]>()
  const attempts = (ctx: TaskContext): (() => unknown)[] => [
    () => neighbour.cast('crash'),
    () => neighbour.send('hello'),
    () => neighbour.call('id'),
    () => ctx.own(() => {}),
    () => ctx.clock.setTimeout(() => {}, 1),
    () => ctx.start(defineActor({ name: 'late', init: () => 0 })),
    () => ctx.bind(() => {}),
    () => tasks.start(() => 1),
  ]
  const task = tasks.start(async (ctx) => {
    await go.opened
    const codes: string[] = []
    for (const attempt of attempts(ctx)) codes.push((await failure((async () => attempt())())).code)
    seen.open(codes)
  })
  task.cancel()
  go.open()
  assert.equal(
    await seen.opened,
    Array.from({ length: 8 }, () => 'ACTOR_DEAD'),
  )
  assert.is(await neighbour.call('id'), 'neighbour')
  assert.is((await tree.count()).active, 2)
})

test('a task that ended normally may still send messages', async (t) => {
  const { tasks, neighbour } = await place(t)
  const later = gate<string>()
  await tasks.start(() => void setImmediate(() => neighbour.call('id').then(later.open))).result
  assert.is(await later.opened, 'neighbour')
})

test('a task beyond its timeout is killed', async (t) => {
  const clock = createFakeClock()
  const { tasks, log } = await place(t, {}, { clock })
  await tasks.start(() => turn(), { timeout: 100 }).result
  assert.is(clock.pending, 0)
  const task = tasks.start(
    (ctx) => {
      ctx.own(() => log.note('released'))
      return never
    },
    { timeout: 100 },
  )
  await clock.advance(99)
  assert.equal(log.rest(), [])
  await clock.advance(1)
  const error = await failure(task.result)
  assert.is(error.code, 'EXITED')
  assert.is(reasonOf(error).type, 'killed')
  assert.equal(log.rest(), ['released'])
  assert.is(clock.pending, 0)
})

test('OTP-78 more tasks than maxChildren are refused at once, and places come free', async (t) => {
  const { tasks, neighbour } = await place(t, { maxChildren: 2 })
  neighbour.cast('run', (ctx) => ctx.link(tasks.ref))
  await neighbour.call('id')
  const first = tasks.start(() => never)
  tasks.start(() => never)
  const error = thrown(() => tasks.start(() => never))
  assert.is(error.code, 'MAX_CHILDREN')
  assert.ok(error.retryable)
  assert.equal(error.data, { maxChildren: 2 })
  first.cancel()
  tasks.start(() => never)
  assert.is(tasks.running, 2)
})

test('taskSupervisorAt finds a task supervisor by reference and refuses others', async (t) => {
  const { tree, tasks, neighbour } = await place(t, { maxChildren: 1 })
  const ref = (await tree.children()).find(({ id }) => id === 'task_supervisor')?.ref
  const same = taskSupervisorAt(ref)
  assert.is(same.ref, tasks.ref)
  same.start(() => never)
  assert.is(tasks.running, 1)
  assert.is(thrown(() => same.start(() => 1)).code, 'MAX_CHILDREN')
  assert.is(thrown(() => new TaskSupervisor(tasks.ref, 5).start(() => 1)).code, 'MAX_CHILDREN')
  for (const wrong of [neighbour, tree.ref, undefined, 'tasks']) {
    assert.is(thrown(() => taskSupervisorAt(wrong as ProcessRef)).code, 'BAD_OPTION')
  }
})

test('wrong arguments throw BAD_OPTION in the caller and start nothing', async (t) => {
  const { tasks } = await place(t)
  const wrong = tasks as unknown as { start(fn: unknown, options?: object): unknown }
  for (const [field, call] of [
    ['fn', () => wrong.start('run')],
    ['timeout', () => wrong.start(() => 1, { timeout: Number.NaN })],
    ['timeout', () => wrong.start(() => 1, { timeout: -1 })],
    ['name', () => wrong.start(() => 1, { name: '' })],
    ['link', () => wrong.start(() => 1, { link: 'session' })],
  ] as const) {
    assert.equal(thrown(call).data, { field })
  }
  assert.is(tasks.running, 0)
})

test.run()
