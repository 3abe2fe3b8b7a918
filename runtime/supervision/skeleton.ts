import { messageOf, RuntimeError, show } from '../base/errors.js'
import type { ExitReason } from '../base/exit.js'
import type { Actor } from '../process/actor.js'
import { type Behaviour, behaviourOf, type Handlers } from '../process/behaviour.js'
import type { ActorContext } from '../process/context.js'
import { type Process, ProcessRef, processOf } from '../process/process.js'
import { type Refusal, refuse } from '../process/program.js'
import { type ActorRef, callActor, forever } from '../process/ref.js'
import { type Child, Retry } from './child.js'

/** One kind of supervisor: what it knows, what it can be asked, and what it decides. */
export interface Kind<State> {
  readonly name: string
  init(ctx: ActorContext): State | Promise<State>
  readonly requests: Handlers<State>
  /** A process that it is linked with has ended: a child, or somebody else. */
  ended(state: State, process: Process, reason: ExitReason, ctx: ActorContext): unknown
  /** The next attempt to restart a child is due. */
  restart(state: State, child: Child, reason: ExitReason, ctx: ActorContext): unknown
  stopChildren(state: State): Promise<unknown>
}

/** The behaviour of a supervisor of that kind. */
export function supervisorBehaviour<State>(
  kind: Kind<State>,
): Behaviour<State, undefined, Handlers<State>, Handlers<State>> {
  const { requests, init, ended, restart } = kind
  return behaviourOf<State, undefined, Handlers<State>, Handlers<State>>(
    {
      name: kind.name,
      trapExit: true,
      stray: 'report',
      mailboxLimit: Number.POSITIVE_INFINITY,
      init: (_, ctx) => init(ctx),
      call: requests,
      info: {
        exit: (state, { from, reason }, ctx) =>
          from === null ? undefined : ended(state, processOf(from), reason, ctx),
        message: (state, message, ctx) =>
          message instanceof Retry && message.due
            ? restart(state, message.child, message.reason, ctx)
            : undefined,
      },
      terminate: (state) => kind.stopChildren(state),
    },
    'supervisor',
  )
}

/** Whether a process is a supervisor that can be asked this. */
export function answers(requests: object, ref: ProcessRef | undefined): ref is ActorRef {
  if (!(ref instanceof ProcessRef)) return false
  const process = processOf(ref)
  return process.kind === 'supervisor' && (process as Actor).behaviour.definition.call === requests
}

/** One child as `children()` lists it. */
export interface ChildInfo {
  readonly id: string
  readonly ref: ProcessRef | undefined
  readonly status: 'running' | 'restarting' | 'stopped'
  readonly type: 'worker' | 'supervisor'
  readonly restarts: number
}

/** How many children there are, by kind: `supervisors` and `workers` count specs, alive or not. */
export interface ChildCount {
  readonly specs: number
  readonly active: number
  readonly supervisors: number
  readonly workers: number
}

/** What can be asked of a supervisor of either kind while it runs; a handle stands for one incarnation. */
export abstract class SupervisorHandle {
  /** The supervisor as a process: to monitor, link or kill it. */
  readonly ref: ActorRef

  constructor(ref: ActorRef) {
    this.ref = ref
  }

  /** The children: those of a supervisor newest first, those of a dynamic one in no particular order. */
  children(): Promise<ChildInfo[]> {
    return this.request('children')
  }

  /** How many children there are. */
  count(): Promise<ChildCount> {
    return this.request('count')
  }

  /** Stops the children, and then the supervisor itself. Resolves with the reason it ended with. */
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

  /**
   * A request is bounded by the children's own start and shutdown limits, and fails if the supervisor ends.
   */
  protected request<Answer>(name: string, input?: unknown): Promise<Answer> {
    return callActor(processOf(this.ref) as Actor, name, input, forever) as Promise<Answer>
  }
}

/** A child as `children()` lists it. */
export function childInfo({ spec, process, status, restarts }: Child): ChildInfo {
  return { id: spec.id, ref: process?.ref, status, type: spec.type, restarts }
}

/** Counts children (OTP: count_children). */
export function count(children: readonly Child[]): ChildCount {
  const supervisors = children.filter((child) => child.spec.type === 'supervisor').length
  const active = children.filter((child) => child.process !== null).length
  return { specs: children.length, active, supervisors, workers: children.length - supervisors }
}

/** The error for a child that could not be started; `cause` is what made it fail. */
export function failedToStart(id: string, error: unknown): RuntimeError {
  return new RuntimeError('START_FAILED', `child ${show(id)} failed to start: ${messageOf(error)}`, {
    cause: rootOf(error),
    data: { id },
  })
}

/** Unwraps the child's own START_FAILED; keeps a nested one, which names the grandchild. */
function rootOf(error: unknown): unknown {
  if (!(error instanceof RuntimeError && error.code === 'START_FAILED' && error.cause !== undefined))
    return error
  const ofChild = (error.data as { id?: string } | undefined)?.id !== undefined
  return ofChild ? error : error.cause
}

/** Rejects for the caller what cannot be met; the supervisor goes on. */
export async function answer<T>(request: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof RuntimeError) return refuse(error)
    throw error
  }
}
