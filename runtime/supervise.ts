import type { Behaviour } from './behaviour.js'
import { type ChildOverrides, type ChildSpec, childSpec, readChildSpec } from './child-spec.js'
import type { ChildStarted } from './child.js'
import { RuntimeError } from './errors.js'
import type { ExitReason } from './exit.js'
import type { ActorRef, ProcessRef } from './ref.js'
import { processOf } from './ref.js'
import { type RootOptions, startRoot } from './root.js'
import {
  type ChildCount,
  type ChildInfo,
  readSupervisorOptions,
  type SupervisorOptions,
  supervisorBehaviour,
} from './supervisor.js'

/** Administers one incarnation of a supervisor while it runs. */
export class Supervisor {
  /** The supervisor as a process: to monitor, link or kill it. */
  readonly ref: ActorRef
  readonly #call: (name: string, input?: unknown) => Promise<unknown>

  constructor(ref: ActorRef) {
    this.ref = ref
    // A request is bounded by the children's own start and shutdown limits, and fails if the supervisor ends.
    const untyped = ref as ActorRef as unknown as { call(name: string, input: unknown, options: object): Promise<unknown> }
    this.#call = (name, input) => untyped.call(name, input, { timeout: Number.POSITIVE_INFINITY })
  }

  /** Starts one more child, last in the order. Rejects with ALREADY_STARTED, ALREADY_PRESENT, START_FAILED or BAD_SPEC. */
  async startChild(spec: ChildSpec): Promise<ChildStarted> {
    return (await this.#call('startChild', readChildSpec(spec))) as ChildStarted
  }

  /** Stops a child and keeps its spec (not that of a temporary one); stopped already is fine. Rejects with NOT_FOUND. */
  async terminateChild(id: string): Promise<void> {
    await this.#call('terminateChild', id)
  }

  /** Starts a stopped child again. Rejects with RUNNING, RESTARTING, NOT_FOUND or START_FAILED. */
  async restartChild(id: string): Promise<ChildStarted> {
    return (await this.#call('restartChild', id)) as ChildStarted
  }

  /** Forgets a stopped child. Rejects with RUNNING, RESTARTING or NOT_FOUND. */
  async deleteChild(id: string): Promise<void> {
    await this.#call('deleteChild', id)
  }

  /** The children, newest first. */
  async children(): Promise<ChildInfo[]> {
    return (await this.#call('children')) as ChildInfo[]
  }

  /** How many children there are. */
  async count(): Promise<ChildCount> {
    return (await this.#call('count')) as ChildCount
  }

  /** A child's spec with every default filled in. Rejects with NOT_FOUND. */
  async childSpec(id: string): Promise<ChildSpec> {
    return (await this.#call('childSpec', id)) as ChildSpec
  }

  /** Stops the children, last started first, and then itself. Resolves with the reason it ended with. */
  stop(timeout = Number.POSITIVE_INFINITY): Promise<ExitReason> {
    return this.ref.stop({ type: 'shutdown' }, timeout)
  }

  /** Calls `fn` once when the supervisor has ended: stopped, killed, or given up. */
  onExit(fn: (reason: ExitReason) => void): () => void {
    return this.ref.onExit(fn)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ref.alive) await this.stop()
  }
}

/**
 * Starts a supervisor as the root of a tree and resolves when all its children are up. When one fails, those already started are
 * stopped again in reverse order and it rejects with START_FAILED (`data.id` names the child). Wrong options reject with
 * BAD_OPTION, BAD_SPEC or DUPLICATE_ID before anything is started.
 */
export async function startSupervisor(options: SupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'>): Promise<Supervisor> {
  const { clock, registry, unowned, logger, ...rest } = options
  const behaviour = supervisorBehaviour(readSupervisorOptions(rest))
  const root: RootOptions = { logger }
  if (clock !== undefined) root.clock = clock
  if (registry !== undefined) root.registry = registry
  if (unowned !== undefined) root.unowned = unowned
  return new Supervisor(await startRoot(behaviour, undefined, root))
}

/** The child spec of a supervisor below another one. Throws BAD_OPTION, BAD_SPEC or DUPLICATE_ID. */
export function supervisorSpec(options: SupervisorOptions, overrides: ChildOverrides = {}): ChildSpec {
  const behaviour = supervisorBehaviour(readSupervisorOptions(options)) as Behaviour<unknown, undefined>
  return childSpec(behaviour, undefined, overrides)
}

/** Administers a supervisor that was started as a child. Throws BAD_OPTION when the process is not a supervisor. */
export function supervisorAt(ref: ProcessRef): Supervisor {
  if (processOf(ref).kind !== 'supervisor') throw new RuntimeError('BAD_OPTION', `${ref.name} is not a supervisor`)
  return new Supervisor(ref as ActorRef)
}
