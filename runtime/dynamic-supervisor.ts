import { type Behaviour, behaviourOf, type Exit } from './behaviour.js'
import { Child, type ChildStarted, reportChild, startChild, stopChild } from './child.js'
import { type ChildOverrides, type ChildSpec, childSpec, type FullChildSpec, readChildSpec } from './child-spec.js'
import type { ActorContext } from './context.js'
import { RuntimeError, show } from './errors.js'
import { crash, type ExitReason, isNormal, shutdown } from './exit.js'
import { type ActorRef, type ProcessRef, processOf } from './ref.js'
import { RestartWindow } from './restart-window.js'
import { type RootOptions, startRoot } from './root.js'
import { shouldRestart } from './strategy.js'
import { answer, type ChildCount, type ChildInfo, childInfo, count } from './supervisor.js'

/** What a dynamic supervisor is made of; its strategy is one_for_one, its children come and go. */
export interface DynamicSupervisorOptions {
  /** Shown in trees, reports and errors. Default `dynamic_supervisor`. */
  name?: string
  /** Children at once, starting and restarting ones included; more are refused with MAX_CHILDREN. Default Infinity. */
  maxChildren?: number
  /** Restarts within `periodMs` that are still fine, over all children. Default 3. */
  intensity?: number
  /** Milliseconds that restarts are counted over. Default 5000. */
  periodMs?: number
}

/** What a dynamic supervisor knows; read by inspection as well. */
export interface DynamicState {
  readonly strategy: 'one_for_one'
  readonly window: RestartWindow
  readonly maxChildren: number
  readonly children: Set<Child>
}

/** Administers one incarnation of a dynamic supervisor (Elixir: DynamicSupervisor). */
export class DynamicSupervisor {
  /** The supervisor as a process: to monitor, link or kill it. */
  readonly ref: ActorRef
  readonly #call: (name: string, input?: unknown) => Promise<unknown>

  constructor(ref: ActorRef) {
    this.ref = ref
    const untyped = ref as ActorRef as unknown as { call(name: string, input: unknown, options: object): Promise<unknown> }
    this.#call = (name, input) => untyped.call(name, input, { timeout: Number.POSITIVE_INFINITY })
  }

  /** Starts a child; ids need not be unique. Rejects with MAX_CHILDREN, START_FAILED or BAD_SPEC. */
  async startChild(spec: ChildSpec): Promise<ChildStarted> {
    return (await this.#call('startChild', readChildSpec(spec))) as ChildStarted
  }

  /** Stops a child by its reference, also by its old one while it is being restarted. Rejects with NOT_FOUND. */
  async terminateChild(ref: ProcessRef): Promise<void> {
    await this.#call('terminateChild', ref)
  }

  /** The children, in no particular order. */
  async children(): Promise<ChildInfo[]> {
    return (await this.#call('children')) as ChildInfo[]
  }

  /** How many children there are. */
  async count(): Promise<ChildCount> {
    return (await this.#call('count')) as ChildCount
  }

  /** Stops all children at once, and then itself. Resolves with the reason it ended with. */
  stop(timeout = Number.POSITIVE_INFINITY): Promise<ExitReason> {
    return this.ref.stop({ type: 'shutdown' }, timeout)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ref.alive) await this.stop()
  }
}

/** Starts a dynamic supervisor as the root of a tree. Rejects with BAD_OPTION. */
export async function startDynamicSupervisor(
  options: DynamicSupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'> = {},
): Promise<DynamicSupervisor> {
  const { clock, registry, unowned, logger, ...rest } = options
  const root: RootOptions = { logger }
  if (clock !== undefined) root.clock = clock
  if (registry !== undefined) root.registry = registry
  if (unowned !== undefined) root.unowned = unowned
  return new DynamicSupervisor(await startRoot(dynamicSupervisorBehaviour(rest), undefined, root))
}

/** The child spec of a dynamic supervisor. Throws BAD_OPTION. */
export function dynamicSupervisorSpec(options: DynamicSupervisorOptions = {}, overrides: ChildOverrides = {}): ChildSpec {
  return childSpec(dynamicSupervisorBehaviour(options) as Behaviour<unknown, undefined>, undefined, overrides)
}

function dynamicSupervisorBehaviour(options: DynamicSupervisorOptions) {
  const { name = 'dynamic_supervisor', maxChildren = Number.POSITIVE_INFINITY, intensity = 3, periodMs = 5_000 } = options
  if (typeof name !== 'string' || name === '') throw bad('name', 'a non-empty string', name)
  if (!(typeof maxChildren === 'number' && maxChildren >= 0)) throw bad('maxChildren', 'a number of 0 or more', maxChildren)
  if (!(typeof intensity === 'number' && intensity >= 0)) throw bad('intensity', 'a number of 0 or more', intensity)
  if (!(typeof periodMs === 'number' && periodMs > 0)) throw bad('periodMs', 'milliseconds above 0', periodMs)
  return behaviourOf(
    {
      name,
      trapExit: true,
      stray: 'report',
      mailboxLimit: Number.POSITIVE_INFINITY,
      init(_: undefined, ctx: ActorContext): DynamicState {
        const state: DynamicState = { strategy: 'one_for_one', window: new RestartWindow(intensity, periodMs), maxChildren, children: new Set() }
        processOf(ctx.self).slots = () => state.children
        return state
      },
      call: {
        startChild: (state: DynamicState, spec: FullChildSpec, ctx: ActorContext) => answer(() => addChild(state, spec, ctx)),
        terminateChild: (state: DynamicState, ref: ProcessRef) => answer(() => terminateChild(state, ref)),
        children: (state: DynamicState) => [...state.children].map(childInfo),
        count: (state: DynamicState) => count([...state.children]),
      },
      info: {
        exit: (state: DynamicState, exit: Exit, ctx: ActorContext) => childEnded(state, exit, ctx),
        message: (state: DynamicState, message: unknown, ctx: ActorContext) =>
          message instanceof Retry ? retry(state, message, ctx) : undefined,
      },
      terminate: (state: DynamicState) => Promise.all([...state.children].map(stopChild)),
    },
    'supervisor',
  )
}

class Retry {
  readonly child: Child
  readonly reason: ExitReason

  constructor(child: Child, reason: ExitReason) {
    this.child = child
    this.reason = reason
  }
}

async function addChild(state: DynamicState, spec: FullChildSpec, ctx: ActorContext): Promise<ChildStarted> {
  const { children, maxChildren } = state
  if (children.size >= maxChildren) {
    throw new RuntimeError('MAX_CHILDREN', `${ctx.self.name}: ${children.size} children are running already`, { retryable: true, data: { maxChildren } })
  }
  const child = new Child(spec, processOf(ctx.self))
  children.add(child)
  try {
    const started = await startChild(child, ctx, false)
    if (started.ref === undefined) children.delete(child)
    return started
  } catch (error) {
    children.delete(child)
    child.settleNames(crash(error))
    if (error instanceof RuntimeError && error.code === 'START_FAILED') throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new RuntimeError('START_FAILED', `child ${show(spec.id)} failed to start: ${message}`, { cause: error, data: { id: spec.id } })
  }
}

async function terminateChild(state: DynamicState, ref: ProcessRef): Promise<void> {
  const process = processOf(ref)
  const child = process.slot instanceof Child && state.children.has(process.slot) ? process.slot : undefined
  if (child === undefined) throw new RuntimeError('NOT_FOUND', `expected a reference to a child, got ${ref.name} ${ref.id}`)
  state.children.delete(child)
  await stopChild(child)
  child.settleNames(shutdown)
}

async function childEnded(state: DynamicState, { from, reason }: Exit, ctx: ActorContext): Promise<void> {
  const process = from === null ? null : processOf(from)
  const child = process?.slot
  if (process === null || !(child instanceof Child) || child.process !== process || !state.children.has(child)) return
  child.process = null
  child.status = 'stopped'
  const { restart } = child.spec
  if (restart === 'permanent' || !isNormal(reason)) reportChild(child, process, 'child_terminated', reason)
  if (!shouldRestart(restart, reason)) {
    state.children.delete(child)
    child.settleNames(reason)
    return
  }
  if (process.released !== null) await process.released
  await restartOne(state, child, reason, ctx)
}

async function retry(state: DynamicState, { child, reason }: Retry, ctx: ActorContext): Promise<void> {
  if (child.status === 'restarting' && state.children.has(child)) await restartOne(state, child, reason, ctx)
}

async function restartOne(state: DynamicState, child: Child, reason: ExitReason, ctx: ActorContext): Promise<void> {
  if (!state.window.add(child.supervisor.tree.clock.now())) {
    reportChild(child, null, 'shutdown', 'reached_max_restart_intensity')
    state.children.delete(child)
    child.passNamesUp(reason)
    return ctx.stop(shutdown)
  }
  try {
    const { ref } = await startChild(child, ctx, true)
    if (ref === undefined) state.children.delete(child)
  } catch (error) {
    child.status = 'restarting'
    reportChild(child, null, 'start_error', crash(error))
    ctx.self.send(new Retry(child, crash(error)))
  }
}

function bad(field: string, expected: string, got: unknown): RuntimeError {
  return new RuntimeError('BAD_OPTION', `${field}: expected ${expected}, got ${show(got)}`, { data: { field } })
}
