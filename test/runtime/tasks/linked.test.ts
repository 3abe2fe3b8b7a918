import * as assert from 'uvu/assert'
import {
  childSpec,
  crash,
  defineActor,
  type Exit,
  type ExitReason,
  normal,
  type RefOf,
  type RuntimeError,
  shutdown,
  startTaskSupervisor,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { ending, failure, gate, type Recorder, thrown, turn } from '../_family.js'
import { type Place, place, reasonOf } from './_tasks.js'

const test = suite('linked tasks')
const boom = new Error('boom')
const never = new Promise<never>(() => {})

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

test('a linked task ends with its process (differs: also when that ends normally)', async (t) => {
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

test('tasks end with their supervisor and release before it restarts', async (t) => {
  const { tree, tasks, log } = await place(t)
  const released = gate()
  const task = tasks.start((ctx) => {
    ctx.own(() => released.opened.then(() => log.note('released')))
    return never
  })
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
