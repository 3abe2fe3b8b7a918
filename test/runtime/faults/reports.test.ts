import * as assert from 'uvu/assert'
import {
  childSpec,
  crash,
  createFakeClock,
  defineActor,
  type ExitReason,
  shutdownWith,
  startSupervisor,
  startTaskSupervisor,
  subscribe,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { hear, Notes, startHost, turn } from '../_actors.js'

const test = suite('reports')

const worker = defineActor({
  name: 'worker',
  init: (_: undefined) => ({}),
  cast: {
    fail(_, error: unknown) {
      throw error
    },
    stop(_, reason: ExitReason, ctx) {
      ctx.stop(reason)
    },
  },
})

async function superviseWorker(t: TestContext) {
  const clock = createFakeClock()
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    name: 'top',
    clock,
    logger: false,
    children: [childSpec(worker, undefined, { name: 'worker' })],
  })
  t.after(() => tree.ref.kill())
  const [info] = await tree.children()
  if (info?.ref === undefined) throw new Error('the child runs')
  return { tree, clock, ref: info.ref as unknown as Caster }
}

type Caster = { readonly id: number; cast(name: 'fail' | 'stop', input: unknown): boolean }

test('OTP-115 OTP-117 crash, end of the child and start of the next report in order', async (t) => {
  const { ref } = await superviseWorker(t)
  const told = new Notes<object>()
  t.after(
    subscribe('crash', ({ name, id, reason, during, mailbox, ancestors }) =>
      told.add({ name, id, reason, during, mailbox, ancestors }),
    ),
  )
  t.after(
    subscribe('supervisor', ({ supervisor, context, reason, child }) =>
      told.add({ supervisor, context, reason, child }),
    ),
  )
  t.after(
    subscribe('progress', ({ supervisor, child, restarted }) => told.add({ supervisor, child, restarted })),
  )
  const error = new Error('broken')
  const reason = crash(error)
  ref.cast('fail', error)
  ref.cast('stop', reason)
  const [first, second, third] = await told.next(3)
  assert.equal(first, { name: 'worker', id: ref.id, reason, during: 'fail', mailbox: 1, ancestors: ['top'] })
  const child = { id: 'worker', process: ref.id, restart: 'permanent' }
  assert.equal(second, { supervisor: 'top', context: 'child_terminated', reason, child })
  assert.equal(third, { supervisor: 'top', child: { id: 'worker', process: ref.id + 1 }, restarted: true })
})

test('OTP-116 normal exits, shutdowns and kills are no crashes', async (t) => {
  const crashes = hear(t, 'crash')
  const host = await startHost(t, { trapExit: true })
  for (const reason of [{ type: 'normal' }, { type: 'shutdown' }, shutdownWith('detail')] as const) {
    const ref = await host.ctx.start(worker)
    await ref.stop(reason)
  }
  const killed = await host.ctx.start(worker)
  killed.kill()
  assert.equal(crashes, [])
})

test('OTP-48 a restart is immediate, without a delay', async (t) => {
  const { ref, tree, clock } = await superviseWorker(t)
  const before = clock.now()
  ref.cast('fail', new Error('broken'))
  await turn()
  const [info] = await tree.children()
  assert.equal([info?.status, info?.restarts, clock.now() - before], ['running', 1, 0])
})

test('OTP-81 the crash of a task names its ancestors up to the root', async (t) => {
  const crashes = hear(t, 'crash')
  const host = await startHost(t, { name: 'connection', trapExit: true })
  const tasks = await startTaskSupervisor(host.ctx, { name: 'requests' })
  const error = new Error('broken')
  const task = tasks.start(
    () => {
      throw error
    },
    { name: 'request 7' },
  )
  assert.is(await task.result.catch((reason: unknown) => reason), error)
  assert.equal(
    crashes.map(({ name, ancestors }) => [name, ancestors]),
    [['request 7', ['requests', 'connection']]],
  )
})

test('OTP-118 reports carry neither state nor messages', async (t) => {
  const crashes = hear(t, 'crash')
  const host = await startHost(t, { trapExit: true })
  const secretive = defineActor({
    name: 'secretive',
    init: () => ({ token: 'secret of the state' }),
    cast: {
      fail(_, __: string) {
        throw new Error('broken')
      },
    },
  })
  const ref = await host.ctx.start(secretive)
  ref.cast('fail', 'secret of the message')
  ref.cast('fail', 'secret of the mailbox')
  await host.exits.next(1)
  assert.is(crashes.length, 1)
  assert.not.match(JSON.stringify(crashes), 'secret of')
})

test.run()
