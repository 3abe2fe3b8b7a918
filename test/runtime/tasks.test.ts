import * as assert from 'uvu/assert'
import { defineActor, type Exit } from '../../runtime/behaviour.js'
import { childSpec } from '../../runtime/child-spec.js'
import type { RuntimeError } from '../../runtime/errors.js'
import { crash, type ExitReason, normal, shutdown } from '../../runtime/exit.js'
import { createFakeClock } from '../../runtime/fake-clock.js'
import type { ProcessRef, RefOf } from '../../runtime/ref.js'
import type { RootOptions } from '../../runtime/root.js'
import type { Supervisor } from '../../runtime/supervise.js'
import type { TaskContext } from '../../runtime/task.js'
import {
  startTaskSupervisor,
  type TaskSupervisor,
  taskSupervisorSpec,
} from '../../runtime/task-supervisor.js'
import type { TaskSupervisorOptions } from '../../runtime/supervisor-options.js'
import { suite, type TestContext } from '../support/suite.js'
import {
  ending,
  failure,
  gate,
  gather,
  Recorder,
  startTree,
  thrown,
  turn,
  worker,
  type WorkerRef,
} from './_family.js'

const test = suite('tasks')
const boom = new Error('boom')
const never = new Promise<never>(() => {})

interface Place {
  tree: Supervisor
  tasks: TaskSupervisor
  log: Recorder
  neighbour: WorkerRef
}

async function place(
  t: TestContext,
  options: TaskSupervisorOptions = {},
  root: RootOptions = {},
): Promise<Place> {
  const log = new Recorder()
  const tree = await startTree(t, { strategy: 'one_for_one', ...root })
  const neighbour = (await tree.startChild(worker(log, 'neighbour'))).ref as WorkerRef
  const { extra } = await tree.startChild(taskSupervisorSpec(options))
  log.rest()
  return { tree, tasks: extra as TaskSupervisor, log, neighbour }
}

function reasonOf(error: RuntimeError): ExitReason {
  return (error.data as { reason: ExitReason }).reason
}

test('OTP-78 a task runs at once, gives its value and ends normally', async (t) => {
  const { tasks } = await place(t)
  const ran: number[] = []
  const sync = tasks.start(() => ran.push(1))
  assert.equal(ran, [1])
  const slow = tasks.start(async () => (await turn(), 'later'))
  const ends = [ending(sync.ref), ending(slow.ref)]
  assert.is(await sync.result, 1)
  assert.is(await slow.result, 'later')
  assert.equal(await Promise.all(ends), [{ type: 'noproc' }, normal])
  assert.is(tasks.running, 0)
})

test('OTP-78 what the function throws rejects the result and is the reason of its end', async (t) => {
  const { tasks, tree } = await place(t)
  const crashes = gather(t, 'crash')
  for (const fn of [
    () => {
      throw boom
    },
    () => Promise.reject(boom),
    async () => (await turn(), Promise.reject(boom)),
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

test('a task that was asked not to report its errors does not, and a result nobody awaits is not fatal', async (t) => {
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

test('OTP-78 tasks are never restarted and cost their supervisor nothing: no message, no restart', async (t) => {
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

test('cancel ends a task: its signal aborts, what it owns is released, the result rejects with EXITED', async (t) => {
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

test('what a cancelled task still does is refused and counted', async (t) => {
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

test('a task that ended normally may still send: it was not cut off', async (t) => {
  const { tasks, neighbour } = await place(t)
  const later = gate<string>()
  await tasks.start(() => void setImmediate(() => neighbour.call('id').then(later.open))).result
  assert.is(await later.opened, 'neighbour')
})

test('a task over its time is killed', async (t) => {
  const clock = createFakeClock()
  const { tasks, log } = await place(t, {}, { clock })
  await tasks.start(() => turn(), { timeout: 100 }).result
  assert.is(clock.pending, 0)
  const task = tasks.start((ctx) => (ctx.own(() => log.note('released')), never), { timeout: 100 })
  await clock.advance(99)
  assert.equal(log.rest(), [])
  await clock.advance(1)
  const error = await failure(task.result)
  assert.is(error.code, 'EXITED')
  assert.is(reasonOf(error).type, 'killed')
  assert.equal(log.rest(), ['released'])
  assert.is(clock.pending, 0)
})

/** An actor that traps exits, or not, and notes what it hears. */
function session(log: Recorder, trapExit: boolean) {
  return defineActor({
    name: 'session',
    trapExit,
    init: (_: undefined, ctx) => void ctx.own(() => log.note('session ended')),
    cast: { stop: (_, reason: ExitReason, ctx) => ctx.stop(reason) },
    call: { id: () => 'session' },
    info: { exit: (_, { reason }: Exit) => log.note(`exit ${reason.type}`) },
  })
}

async function linked(
  t: TestContext,
  trapExit: boolean,
): Promise<Place & { ref: RefOf<ReturnType<typeof session>> }> {
  const at = await place(t)
  const { ref } = await at.tree.startChild(
    childSpec(session(at.log, trapExit), undefined, { restart: 'temporary' }),
  )
  return { ...at, ref: ref as RefOf<ReturnType<typeof session>> }
}

test('OTP-78 a linked task crashes the process it works for, unless that traps exits', async (t) => {
  const plain = await linked(t, false)
  const ended = ending(plain.ref)
  plain.tasks.start(() => Promise.reject(boom), { link: plain.ref })
  assert.equal(await ended, crash(boom))
  const trapping = await linked(t, true)
  trapping.tasks.start(() => Promise.reject(boom), { link: trapping.ref })
  trapping.tasks.start(() => 1, { link: trapping.ref })
  assert.equal((await trapping.log.next(2)).sort(), ['exit crash', 'exit normal'])
  assert.is(await trapping.ref.call('id'), 'session')
})

test('OTP-78 a task without a link crashes nobody', async (t) => {
  const { tasks, neighbour } = await place(t)
  neighbour.cast('run', () => void tasks.start(() => Promise.reject(boom)))
  assert.is(await neighbour.call('id'), 'neighbour')
})

test('a linked task ends with the process it works for, however that ends (differs: also when it ends normally)', async (t) => {
  for (const reason of [normal, shutdown, crash(boom)]) {
    const { tasks, ref } = await linked(t, false)
    const task = tasks.start(
      (ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', reject)),
      { link: ref },
    )
    ref.cast('stop', reason)
    const error: unknown = await task.result.catch((error: unknown) => error)
    assert.equal(task.ref.reason, reason.type === 'normal' ? shutdown : reason)
    if (reason.type === 'crash') assert.is(error, boom)
    else assert.is((error as RuntimeError).code, 'EXITED')
    assert.is(tasks.running, 0)
  }
})

test('a task linked with a process that is gone does not run, and its result rejects', async (t) => {
  const { tasks, ref } = await linked(t, false)
  const ended = ending(ref)
  ref.kill()
  await ended
  const ran: string[] = []
  const task = tasks.start(() => ran.push('ran'), { link: ref })
  const error = await failure(task.result)
  assert.is(error.code, 'EXITED')
  assert.is(reasonOf(error).type, 'noproc')
  assert.equal(ran, [])
  assert.is(tasks.running, 0)
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

test('taskSupervisorAt finds a task supervisor by its reference, with its limit, and refuses what is none', async (t) => {
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

test('tasks end with their supervisor, and what they own is released before it starts again', async (t) => {
  const { tree, tasks, log } = await place(t)
  const released = gate()
  const task = tasks.start((ctx) => (ctx.own(() => released.opened.then(() => log.note('released'))), never))
  tasks.ref.kill()
  assert.is(reasonOf(await failure(task.result)).type, 'killed')
  const next = tree.count().then(({ active }) => log.note(`active ${active}`))
  await turn()
  assert.equal(log.rest(), [])
  released.open()
  await next
  assert.equal(log.rest(), ['released', 'active 2'])
  assert.is(thrown(() => tasks.start(() => 1)).code, 'NOPROC')
})

test('an orderly stop of their supervisor ends tasks with shutdown', async (t) => {
  const { tree, tasks } = await place(t)
  const task = tasks.start(() => never)
  await tree.terminateChild('task_supervisor')
  assert.equal(reasonOf(await failure(task.result)), shutdown)
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

test('an actor can have a task supervisor of its own, which ends with it', async (t) => {
  const { tree } = await place(t)
  const host = defineActor({
    name: 'host',
    init: async (_: undefined, ctx) => ({ tasks: await startTaskSupervisor(ctx, { name: 'own' }) }),
    call: { run: ({ tasks }) => tasks.start(() => 7).result, tasks: ({ tasks }) => tasks },
  })
  const ref = (await tree.startChild(childSpec(host, undefined, { restart: 'temporary' }))).ref as RefOf<
    typeof host
  >
  assert.is(await ref.call('run'), 7)
  const tasks = await ref.call('tasks')
  const task = tasks.start(() => never)
  await ref.stop()
  assert.is((await failure(task.result)).code, 'EXITED')
  assert.not(tasks.ref.alive)
})

test.run()
