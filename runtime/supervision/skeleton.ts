import { messageOf, RuntimeError, show } from '../base/errors.js'
import type { ExitReason } from '../base/exit.js'
import type { Actor } from '../process/actor.js'
import { type Behaviour, behaviourOf, type Handlers } from '../process/behaviour.js'
import type { ActorContext } from '../process/context.js'
import { type Process, ProcessRef, processOf } from '../process/process.js'
import { type Refusal, refuse } from '../process/program.js'
import { type ActorRef, callActor, forever } from '../process/ref.js'
import { type Child, Retry } from './child.js'

interface Kind<State> {
  readonly name: string
  init(ctx: ActorContext): State | Promise<State>
  readonly requests: Handlers<State>
  /** A linked process has ended, maybe a child. */
  ended(state: State, process: Process, reason: ExitReason, ctx: ActorContext): unknown
  restart(state: State, child: Child, reason: ExitReason, ctx: ActorContext): unknown
  stopChildren(state: State): Promise<unknown>
}

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

/** Counts of children; `supervisors` and `workers` count specs, alive or not. */
export interface ChildCount {
  readonly specs: number
  readonly active: number
  readonly supervisors: number
  readonly workers: number
}

/** What both kinds of supervisors have; a handle stands for one incarnation. */
export abstract class SupervisorHandle {
  /** The supervisor as a process: to monitor, link or kill it. */
  readonly ref: ActorRef

  constructor(ref: ActorRef) {
    this.ref = ref
  }

  /** The children: newest first, those of a dynamic supervisor in no order. */
  children(): Promise<ChildInfo[]> {
    return this.request('children')
  }

  /** How many children there are (OTP: count_children). */
  count(): Promise<ChildCount> {
    return this.request('count')
  }

  /** Stops the children, then itself within `timeout` ms (default Infinity). Rejects as `ref.stop`. */
  stop(timeout = Number.POSITIVE_INFINITY): Promise<ExitReason> {
    return this.ref.stop({ type: 'shutdown' }, timeout)
  }

  /** Calls `fn` once when the supervisor ends. Throws BAD_OPTION. */
  onExit(fn: (reason: ExitReason) => void): () => void {
    return this.ref.onExit(fn)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ref.alive) await this.stop()
  }

  /** No deadline: the children's start and shutdown limits bound it; it fails if the supervisor ends. */
  protected request<Answer>(name: string, input?: unknown): Promise<Answer> {
    return callActor(processOf(this.ref) as Actor, name, input, forever) as Promise<Answer>
  }
}

export function childInfo({ spec, process, status, restarts }: Child): ChildInfo {
  return { id: spec.id, ref: process?.ref, status, type: spec.type, restarts }
}

export function count(children: readonly Child[]): ChildCount {
  const supervisors = children.filter((child) => child.spec.type === 'supervisor').length
  const active = children.filter((child) => child.process !== null).length
  return { specs: children.length, active, supervisors, workers: children.length - supervisors }
}

/** The error for a child that failed to start; `cause` is its error. */
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

/** Replies with a RuntimeError instead of crashing. */
export async function answer<T>(request: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof RuntimeError) return refuse(error)
    throw error
  }
}
