import * as assert from 'uvu/assert'
import {
  awaitTask,
  childSpec,
  defineActor,
  type Order,
  type RefOf,
  startSupervisor,
  type TaskSupervisor,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { type CountedWorld, withOnlyWorld } from '../../support/only-world.js'
import { suite } from '../../support/suite.js'
import { ending, Recorder, worker, workerOf } from '../_family.js'

const test = suite('a tree and its world')

const inTurn: Order = { next: () => 0, messages: () => 1 }

/** Ticks by itself, answers late, and calls others. */
const ticker = defineActor({
  name: 'ticker',
  init: (_: undefined, ctx) => {
    ctx.sendAfter(1)
    return { ticks: 0, clock: ctx.clock }
  },
  info: {
    timer(state, _payload, ctx) {
      state.ticks += 1
      ctx.sendAfter(1)
    },
  },
  call: {
    late: ({ clock }) => new Promise<string>((resolve) => void clock.setTimeout(() => resolve('late'), 2)),
    never: () => new Promise<never>(() => {}),
  },
})

/** Timers, turns, deadlines, a crash and a restart, tasks, monitors, and an orderly end. */
async function live(world: CountedWorld): Promise<unknown[]> {
  const log = new Recorder()
  const tree = await startSupervisor({
    clock: world,
    logger: false,
    onBlocked: 'ignore', // a thread watches it otherwise, in real time
    strategy: 'one_for_one',
    children: [worker(log, 'a'), childSpec(ticker, undefined, { name: 'ticker', shutdown: 1_000 })],
  })
  const { extra } = await tree.startChild(taskSupervisorSpec())
  const tasks = extra as TaskSupervisor
  const first = await workerOf(tree, 'a')
  // so many that a turn looks at the time
  await Promise.all(Array.from({ length: 50 }, () => first.call('id')))
  const ended = ending(first)
  first.cast('crash', undefined)
  const reason = await ended
  const after = await ending(first)
  const restarted = await log.next(3)
  const ref = (await tree.children()).find(({ id }) => id === 'ticker')?.ref as RefOf<typeof ticker>
  const late = await ref.call('late')
  const missed = await ref
    .call('never', undefined, { timeout: 5 })
    .catch((error) => (error as { code: string }).code)
  const seven = await awaitTask(tasks.start(() => 7))
  const over = await awaitTask(tasks.start(() => new Promise(() => {}), { timeout: 5 })).catch(() => 'over')
  await tree.stop()
  return [reason.type, after.type, restarted, late, missed, seven, over]
}

for (const [how, more] of [
  ['as messages come', {}],
  ['in the order that is drawn', { order: inTurn }],
] as const)
  test(`a tree takes time and turns from its world only, actors ${how}`, async () => {
    const { result, used } = await withOnlyWorld(async (world) => [await live(world), world.asked], more)
    const [lived, asked] = result as [unknown[], CountedWorld['asked']]
    assert.equal(used, [])
    const restarted = ['start a', 'end a', 'start a']
    assert.equal(lived, ['crash', 'noproc', restarted, 'late', 'TIMEOUT', 7, 'over'])
    for (const name of ['now', 'setTimeout', 'clearTimeout', 'setImmediate', 'queueMicrotask'] as const)
      assert.ok(asked[name] > 0, name)
  })

test('use of a source outside of the world is detected', async () => {
  const uses: readonly (() => unknown)[] = [
    () => Date.now(),
    () => new Date(),
    () => performance.now(),
    () => setTimeout(() => {}, 1),
    () => setImmediate(() => {}),
    () => queueMicrotask(() => {}),
    () => Math.random(),
    () => crypto.randomUUID(),
    () => process.hrtime(),
    () => AbortSignal.timeout(1),
  ]
  const { used } = await withOnlyWorld(async () => {
    for (const use of uses) assert.throws(use, /is no world/)
    return new Date(5).getTime()
  })
  assert.is(used.length, uses.length)
  assert.is(typeof Date.now(), 'number')
})

test.run()
