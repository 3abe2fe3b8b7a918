import {
  type ActorContext,
  type ChildOverrides,
  type ChildSpec,
  childSpec,
  defineActor,
  type ExitReason,
  normal,
  type ProcessRef,
  type RefOf,
  type RootOptions,
  RuntimeError,
  type RuntimeEvents,
  startSupervisor,
  subscribe,
  type Supervisor,
  type SupervisorOptions,
} from 'caduceus/runtime'
import type { TestContext } from '../support/suite.js'

/** Notes what happens in order, and hands it out as it comes. */
export class Recorder {
  readonly #events: string[] = []
  #wanted: { count: number; resolve: (events: string[]) => void } | undefined

  note(event: string): void {
    this.#events.push(event)
    this.#hand()
  }

  /** Resolves with the next `count` events, as soon as there are so many. */
  next(count: number): Promise<string[]> {
    return new Promise((resolve) => {
      this.#wanted = { count, resolve }
      this.#hand()
    })
  }

  /** What has been noted and not handed out yet. */
  rest(): string[] {
    return this.#events.splice(0)
  }

  #hand(): void {
    const wanted = this.#wanted
    if (wanted === undefined || this.#events.length < wanted.count) return
    this.#wanted = undefined
    wanted.resolve(this.#events.splice(0, wanted.count))
  }
}

/** What a worker of these tests does besides telling of itself. */
export interface WorkerOptions extends ChildOverrides {
  trapExit?: boolean
  /** Runs before the worker counts as started; a throw fails the start. */
  init?(ctx: ActorContext): unknown
  terminate?(reason: ExitReason, ctx: ActorContext): unknown
}

/** A child that notes `start <id>` when its init is done and `end <id>` when it has ended, however it ended. */
export function worker(log: Recorder, id: string, options: WorkerOptions = {}): ChildSpec {
  const { trapExit, init, terminate, ...overrides } = options
  return childSpec(
    workerBehaviour(log, id, { trapExit: trapExit ?? false, init, terminate }),
    undefined,
    overrides,
  )
}

interface Hooks {
  trapExit: boolean
  init: WorkerOptions['init'] | undefined
  terminate: WorkerOptions['terminate'] | undefined
}

function workerBehaviour(log: Recorder, id: string, { trapExit, init, terminate }: Hooks) {
  const begin = (ctx: ActorContext): { id: string } => {
    log.note(`start ${id}`)
    ctx.own(() => log.note(`end ${id}`))
    return { id }
  }
  return defineActor({
    name: id,
    trapExit,
    init(_: undefined, ctx) {
      const first = init?.(ctx)
      return first instanceof Promise ? first.then(() => begin(ctx)) : begin(ctx)
    },
    call: { id: (state) => state.id, pass: (_, value: unknown) => value },
    cast: {
      crash(_, error: unknown) {
        throw error ?? new Error(`${id} crashes`)
      },
      stop(_, reason: ExitReason | undefined, ctx) {
        ctx.stop(reason ?? normal)
      },
      run: (_, fn: (ctx: ActorContext) => unknown, ctx) => fn(ctx),
    },
    ...(terminate === undefined
      ? {}
      : { terminate: (_: { id: string }, reason: ExitReason, ctx: ActorContext) => terminate(reason, ctx) }),
  })
}

/** The reference of a worker. */
export type WorkerRef = RefOf<ReturnType<typeof workerBehaviour>>

/** A supervisor at the root of a silent tree that ends with the test. */
export async function startTree(
  t: TestContext,
  options: SupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'>,
): Promise<Supervisor> {
  const tree = await startSupervisor({ logger: false, ...options })
  t.after(() => tree.ref.kill())
  return tree
}

/** The running worker with that id. */
export async function workerOf(tree: Supervisor, id: string): Promise<WorkerRef> {
  const ref = (await tree.children()).find((child) => child.id === id)?.ref
  if (ref === undefined) throw new Error(`${id} does not run`)
  return ref as WorkerRef
}

/** What became of each child, in start order: `running`, `restarting` or `stopped`. */
export async function statuses(tree: Supervisor): Promise<Record<string, string>> {
  return Object.fromEntries((await tree.children()).reverse().map(({ id, status }) => [id, status]))
}

/** Resolves with the reason a process ended with. */
export function ending(ref: ProcessRef): Promise<ExitReason> {
  return new Promise((resolve) => ref.onExit(resolve))
}

/** The RuntimeError a promise is rejected with. */
export async function failure(promise: Promise<unknown>): Promise<RuntimeError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof RuntimeError) return error
    throw error
  }
  throw new Error('expected a rejection')
}

/** The RuntimeError a function throws. */
export function thrown(fn: () => unknown): RuntimeError {
  try {
    fn()
  } catch (error) {
    if (error instanceof RuntimeError) return error
    throw error
  }
  throw new Error('expected a throw')
}

/** Gathers the events of one name while the test runs. */
export function gather<Name extends keyof RuntimeEvents>(t: TestContext, name: Name): RuntimeEvents[Name][] {
  const events: RuntimeEvents[Name][] = []
  t.after(subscribe(name, (event) => events.push(event)))
  return events
}

/** A promise and the function that resolves it. */
export function gate<T = void>(): { opened: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** One turn of the event loop: everything that is due in microtasks has happened then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
