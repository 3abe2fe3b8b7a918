// time limit: 120 s
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import {
  type ActorRef,
  childSpec,
  crash,
  createFakeClock,
  defineActor,
  type ExitReason,
  type FakeClock,
  killed,
  normal,
  type Restart,
  RuntimeError,
  startSupervisor,
  type Strategy,
  type Supervisor,
} from 'caduceus/runtime'
import { suite } from '../support/suite.js'
import { SupervisorModel } from './model/supervisor-model.js'

const test = suite('supervisors against a model')
const runs = Number(process.env.MODEL_RUNS ?? 300)

/** How the real children fail, and what they told. */
interface World {
  readonly failing: Map<string, 'throw' | 'reject' | 'killed in init'>[]
  readonly starts: Map<string, number>
  readonly refs: Map<string, ActorRef>
  readonly breakTerminate: Set<string>
  /** Orderly stops and starts, in order. */
  readonly log: string[]
}

interface Real {
  readonly tree: Supervisor
  readonly clock: FakeClock
  readonly world: World
}

const worker = defineActor({
  name: 'worker',
  trapExit: true,
  init({ id, world }: { id: string; world: World }, ctx) {
    const failure = takeFailure(world, id)
    if (failure === 'throw') throw new Error('init failed')
    if (failure === 'reject') return Promise.reject(new Error('init failed later'))
    if (failure === 'killed in init') {
      queueMicrotask(() => ctx.self.kill())
      return new Promise<never>(() => {})
    }
    world.starts.set(id, (world.starts.get(id) ?? 0) + 1)
    world.refs.set(id, ctx.self)
    world.log.push(`start ${id}`)
    return { id, world }
  },
  info: {
    message(_, message, ctx) {
      if (message === 'throw') throw new Error('thrown')
      if (message === 'reject') return Promise.reject(new Error('rejected'))
      ctx.stop(normal)
      return undefined
    },
  },
  terminate({ id, world }, reason) {
    if (reason.type === 'shutdown') world.log.push(`stop ${id}`)
    if (world.breakTerminate.delete(id)) throw new Error('terminate failed')
  },
})

type Death = 'throw' | 'reject' | 'kill' | 'stop' | 'stop with a crash in terminate'

class Die implements fc.AsyncCommand<SupervisorModel, Real> {
  readonly #id: string
  readonly #how: Death
  readonly #failures: readonly ('throw' | 'reject' | 'killed in init')[]

  constructor(id: string, how: Death, failures: readonly ('throw' | 'reject' | 'killed in init')[]) {
    this.#id = id
    this.#how = how
    this.#failures = failures
  }

  check(model: SupervisorModel): boolean {
    return model.alive && model.find(this.#id)?.status === 'running'
  }

  async run(model: SupervisorModel, real: Real): Promise<void> {
    model.failing.clear()
    model.failing.set(this.#id, this.#failures.length)
    real.world.failing.length = 0
    for (const failure of this.#failures) real.world.failing.push(new Map([[this.#id, failure]]))
    const ref = real.world.refs.get(this.#id)
    if (this.#how === 'kill') ref?.kill()
    else {
      if (this.#how === 'stop with a crash in terminate') real.world.breakTerminate.add(this.#id)
      ref?.send(this.#how)
    }
    model.ended(this.#id, reasons[this.#how])
    await compare(model, real)
    real.world.breakTerminate.clear()
  }

  toString(): string {
    return `${this.#id}: ${this.#how}${this.#failures.length > 0 ? `, then its starts fail: ${this.#failures}` : ''}`
  }
}

const reasons: Record<Death, ExitReason> = {
  throw: crash(new Error('thrown')),
  reject: crash(new Error('rejected')),
  kill: killed,
  stop: normal,
  'stop with a crash in terminate': crash(new Error('terminate failed')),
}

class Administer implements fc.AsyncCommand<SupervisorModel, Real> {
  readonly #id: string
  readonly #what: 'terminateChild' | 'restartChild' | 'deleteChild'

  constructor(id: string, what: 'terminateChild' | 'restartChild' | 'deleteChild') {
    this.#id = id
    this.#what = what
  }

  check(model: SupervisorModel): boolean {
    return model.alive
  }

  async run(model: SupervisorModel, real: Real): Promise<void> {
    model.failing.clear()
    real.world.failing.length = 0
    const child = model.find(this.#id)
    const expected =
      child === undefined
        ? 'NOT_FOUND'
        : this.#what !== 'terminateChild' && child.status === 'running'
          ? 'RUNNING'
          : undefined
    const outcome = await real.tree[this.#what](this.#id).then(
      () => undefined,
      (error) => error,
    )
    assert.is(outcome instanceof RuntimeError ? outcome.code : outcome, expected)
    if (expected === undefined) {
      if (this.#what === 'terminateChild') model.terminate(this.#id)
      if (this.#what === 'restartChild') model.restartByHand(this.#id)
      if (this.#what === 'deleteChild') model.forget(this.#id)
    }
    await compare(model, real)
  }

  toString(): string {
    return `${this.#what}(${this.#id})`
  }
}

class Wait implements fc.AsyncCommand<SupervisorModel, Real> {
  readonly #ms: number

  constructor(ms: number) {
    this.#ms = ms
  }

  check(): boolean {
    return true
  }

  async run(model: SupervisorModel, real: Real): Promise<void> {
    model.now += this.#ms
    await real.clock.advance(this.#ms)
  }

  toString(): string {
    return `wait ${this.#ms} ms`
  }
}

/** Waits until the supervisor has answered behind everything before, then holds it against the model. */
async function compare(model: SupervisorModel, { tree, world, clock }: Real): Promise<void> {
  for (let i = 0; i < 6; i++) await clock.advance(0)
  assert.is(tree.ref.alive, model.alive, 'the supervisor lives')
  assert.equal(world.log, model.log, 'stops and starts are in order')
  if (!model.alive) {
    assert.equal(tree.ref.reason, { type: 'shutdown' })
    for (const ref of world.refs.values()) assert.not(ref.alive, 'no child outlives its supervisor')
    return
  }
  const children = (await tree.children()).reverse()
  assert.equal(
    children.map(({ id, status }) => ({ id, status, starts: world.starts.get(id) })),
    model.children.map(({ id, status, starts }) => ({ id, status, starts })),
  )
}

const ids = ['a', 'b', 'c', 'd'] as const
const failure = fc.constantFrom('throw' as const, 'reject' as const, 'killed in init' as const)
const death = fc.constantFrom<Death>('throw', 'reject', 'kill', 'stop', 'stop with a crash in terminate')
const commands = [
  fc
    .tuple(fc.constantFrom(...ids), death, fc.array(failure, { maxLength: 2 }))
    .map(([id, how, failures]) => new Die(id, how, failures)),
  fc.tuple(fc.constantFrom(...ids), death).map(([id, how]) => new Die(id, how, [])),
  fc
    .tuple(
      fc.constantFrom(...ids),
      fc.constantFrom('terminateChild' as const, 'restartChild' as const, 'deleteChild' as const),
    )
    .map(([id, what]) => new Administer(id, what)),
  fc.integer({ min: 0, max: 1_200 }).map((ms) => new Wait(ms)),
]

test(
  `${runs} random supervisor histories match the model`,
  async () => {
    const strategy = fc.constantFrom<Strategy>('one_for_one', 'one_for_all', 'rest_for_one')
    const kinds = fc.tuple(...ids.map(() => fc.constantFrom<Restart>('permanent', 'transient', 'temporary')))
    const property = fc.asyncProperty(
      strategy,
      kinds,
      fc.integer({ min: 0, max: 5 }),
      fc.commands(commands, { maxCommands: 12 }),
      async (strategy, kinds, intensity, commands) => {
        const specs = ids.map((id, i) => ({ id, restart: kinds[i] ?? 'permanent' }))
        const world: World = {
          failing: [],
          starts: new Map(),
          refs: new Map(),
          breakTerminate: new Set(),
          log: [],
        }
        const clock = createFakeClock()
        const children = specs.map(({ id, restart }) => childSpec(worker, { id, world }, { id, restart }))
        const tree = await startSupervisor({
          strategy,
          intensity,
          periodMs: 1_000,
          children,
          clock,
          logger: false,
        })
        world.log.length = 0
        try {
          const setup = () => ({
            model: new SupervisorModel(strategy, intensity, 1_000, specs),
            real: { tree, clock, world },
          })
          await fc.asyncModelRun(setup, commands)
        } finally {
          tree.ref.kill()
        }
      },
    )
    await fc.assert(property, { numRuns: runs })
  },
  { timeout: 110_000 },
)

function takeFailure(world: World, id: string): 'throw' | 'reject' | 'killed in init' | undefined {
  const i = world.failing.findIndex((failures) => failures.has(id))
  return i === -1 ? undefined : world.failing.splice(i, 1)[0]?.get(id)
}

test.run()
