// time limit: 120 s
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import {
  childSpec,
  createFakeClock,
  defineActor,
  Registry,
  startSupervisor,
  type TaskSupervisor,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('no caller ever hangs')
const runs = Number(process.env.MODEL_RUNS ?? 300)

const server = defineActor({
  name: 'server',
  mailboxLimit: 5,
  init: (slow: boolean) => (slow ? Promise.resolve({ count: 0 }) : { count: 0 }),
  call: {
    now: (state) => state.count++,
    soon: async (state) => {
      await null
      return state.count++
    },
    hang: () => new Promise<never>(() => {}),
    crash: (): number => {
      throw new Error('crash')
    },
    reject: () => Promise.reject(new Error('reject')),
    deferred: (_state, _input: undefined, ctx) => {
      const reply = ctx.defer<number>()
      queueMicrotask(() => reply.resolve(1))
      return reply
    },
    forgotten: (_state, _input: undefined, ctx) => ctx.defer<number>(),
    stop: (_state, _input: undefined, ctx) => ctx.stop(),
  },
})

const calls = [
  'now',
  'soon',
  'hang',
  'crash',
  'reject',
  'deferred',
  'forgotten',
  'stop',
  'no such call',
] as const
type Step =
  | { type: 'call'; name: (typeof calls)[number]; by: 'ref' | 'name'; timeout: number }
  | { type: 'watch' }
  | { type: 'kill' }
  | { type: 'stop' }
  | { type: 'task'; how: 'value' | 'throw' | 'hang'; timeout: number }
  | { type: 'time'; ms: number }
  | { type: 'turn' }

const timeout = fc.constantFrom(0, 10, 100, 1_000)
const step = fc.oneof(
  fc.record({
    type: fc.constant('call' as const),
    name: fc.constantFrom(...calls),
    by: fc.constantFrom('ref' as const, 'name' as const),
    timeout,
  }),
  fc.record({ type: fc.constant('watch' as const) }),
  fc.record({ type: fc.constant('kill' as const) }),
  fc.record({ type: fc.constant('stop' as const) }),
  fc.record({
    type: fc.constant('task' as const),
    how: fc.constantFrom('value' as const, 'throw' as const, 'hang' as const),
    timeout,
  }),
  fc.record({ type: fc.constant('time' as const), ms: fc.constantFrom(1, 20, 500) }),
  fc.record({ type: fc.constant('turn' as const) }),
)

test(
  `in ${runs} random runs every call, task and watch settles once`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.integer({ min: 0, max: 4 }), fc.array(step, { maxLength: 30 }), live),
      { numRuns: runs },
    )
  },
  { timeout: 110_000 },
)

async function live(slow: boolean, intensity: number, steps: Step[]): Promise<void> {
  const clock = createFakeClock()
  const registry = new Registry()
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    intensity,
    clock,
    registry,
    logger: false,
    children: [
      taskSupervisorSpec({}, { id: 'tasks', name: 'tasks' }),
      childSpec(server, slow, { name: 'server' }),
    ],
  })
  const taskChild = await tree.startChild(taskSupervisorSpec({ name: 'more' }, { id: 'more' }))
  const tasks = taskChild.extra as TaskSupervisor
  const settlings: number[] = []
  const watch = (promise: Promise<unknown>): void => {
    const i = settlings.push(0) - 1
    const settled = (): void => {
      settlings[i] = (settlings[i] ?? 0) + 1
    }
    promise.then(settled, settled)
  }
  const monitors: number[] = []
  for (const step of steps) {
    const ref = registry.named<typeof server>('server').current
    if (step.type === 'turn') await clock.advance(0)
    else if (step.type === 'time') await clock.advance(step.ms)
    else if (step.type === 'kill') ref?.kill()
    else if (step.type === 'stop' && ref !== undefined) watch(ref.stop())
    else if (step.type === 'call') {
      const target = step.by === 'ref' && ref !== undefined ? ref : registry.named<typeof server>('server')
      watch(target.call(step.name as 'now', undefined, { timeout: step.timeout }))
    } else if (step.type === 'watch' && ref !== undefined) {
      const i = monitors.push(0) - 1
      ref.onExit(() => {
        monitors[i] = (monitors[i] ?? 0) + 1
      })
    } else if (step.type === 'task' && tasks.ref.alive) {
      const work = {
        value: () => 1,
        throw: () => Promise.reject(new Error('task')),
        hang: () => new Promise<never>(() => {}),
      }[step.how]
      watch(tasks.start(work, { timeout: step.timeout }).result)
    }
  }
  for (let i = 0; i < 3; i++) await clock.advance(3_000)
  if (tree.ref.alive) {
    const stopped = tree.stop()
    await clock.advance(20_000)
    await stopped
  }
  await clock.advance(3_000)
  assert.equal(
    settlings.filter((times) => times !== 1),
    [],
    'every promise settled exactly once',
  )
  assert.equal(
    monitors.filter((times) => times !== 1),
    [],
    'every watch fired exactly once',
  )
}

test.run()
