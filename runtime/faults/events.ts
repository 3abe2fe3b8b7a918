import { type Channel, channel } from 'node:diagnostics_channel'
import { tell } from './containment.js'
import type { ExitReason } from '../base/exit.js'
import { optionError, show } from '../base/errors.js'

/** Plain values by what they are called. */
export type WorkFacts = Readonly<Record<string, string | number>>

/** The process that an event is about. */
export interface ProcessFacts {
  /** The number of its tree, unique in this process of Node. */
  readonly tree: number
  /** Unique within its tree; never reused. */
  readonly id: number
  /** The name of its behaviour or task. */
  readonly name: string
}

/** A process ended by an error (OTP: crash report). */
export interface CrashEvent extends ProcessFacts {
  /** Its number, which clients of a server are told: `1.24` is process 24 of tree 1. */
  readonly report: string
  readonly reason: ExitReason
  /** `init`, the name of the message handler, `terminate`, or `stray` for a stray error. */
  readonly during: string
  /** Messages that waited and are lost. */
  readonly mailbox: number
  /** The result of `formatStatus`; undefined without one, since a state may hold secrets. */
  readonly status: unknown
  /** Facts of a task about its work (`TaskOptions.about`), such as the request and its client. */
  readonly about: WorkFacts | undefined
  readonly ancestors: readonly string[]
}

/** The number of a crash report, in the log and in errors that clients get. */
export function reportNumber(tree: number, process: number): string {
  return `${tree}.${process}`
}

/** A child ended or failed to start (OTP: supervisor report). */
export interface SupervisorEvent {
  readonly tree: number
  readonly supervisor: string
  readonly context: 'start_error' | 'child_terminated' | 'shutdown_error' | 'shutdown'
  readonly reason: ExitReason | 'reached_max_restart_intensity'
  readonly child: { readonly id: string; readonly process: number | undefined; readonly restart: string }
}

/** A child was started or restarted (OTP: progress report). */
export interface ProgressEvent {
  readonly tree: number
  readonly supervisor: string
  readonly child: { readonly id: string; readonly process: number | undefined }
  readonly restarted: boolean
}

/** A stray error: no handler caught it. */
export interface StrayEvent {
  readonly tree: number
  readonly error: unknown
  readonly kind: 'rejection' | 'throw'
  /** The task or actor whose code left it; undefined if unknown. */
  readonly owner: string | undefined
  /** What it caused: its owner failed, a report only, the tree stopped, or the program ended. */
  readonly outcome: 'failed' | 'reported' | 'stopped' | 'exited'
}

/** A warning; no process ended. */
export interface NoticeEvent extends ProcessFacts {
  readonly notice:
    | 'branch_may_stay_dead'
    | 'mailbox_full'
    | 'unexpected_message'
    | 'cleanup_failed'
    | 'cleanup_timeout'
    | 'owner_missing'
  readonly detail: unknown
}

/** The event loop was blocked. Reported once, when it turns again. */
export interface BlockedEvent {
  /** The tree of the process whose code ran; else the oldest tree that lives. */
  readonly tree: number
  /** The process whose code ran, such as the task `tools/call spin`; undefined where that is not known. */
  readonly owner: string | undefined
  /** The names of the processes above it, its parent first: `shop/tasks`, `shop/group`. */
  readonly ancestors: readonly string[]
  /**
   * The id of what the task serves (`TaskOptions.serves`): of a request, if a server has started the task.
   */
  readonly serves: string | number | undefined
  /** Milliseconds without a turn. */
  readonly ms: number
  /** The functions that ran, innermost first, as `name (file:line)`; empty where that is not known. */
  readonly stack: readonly string[]
}

/** The runtime's events by name, on the `diagnostics_channel` `caduceus.<name>`. */
export interface RuntimeEvents {
  crash: CrashEvent
  supervisor: SupervisorEvent
  progress: ProgressEvent
  stray: StrayEvent
  notice: NoticeEvent
  blocked: BlockedEvent
}

/** Calls `fn` with each event of a channel of another floor until the returned function is called. */
export function onChannel(name: string, fn: (event: Readonly<Record<string, unknown>>) => void): () => void {
  const source = channel(name)
  const listener = (event: unknown): void => fn(event as Readonly<Record<string, unknown>>)
  source.subscribe(listener)
  return () => void source.unsubscribe(listener)
}

/** The events of one floor, on the channels `PREFIX.NAME`. */
export interface EventChannels<Events> {
  /** Tells subscribers; makes the payload only if somebody listens. Their throws become warnings. */
  emit<Name extends keyof Events>(name: Name, payload: () => Events[Name]): void
  isHeard(name: keyof Events): boolean
  /** Calls `fn` with each event until the returned function is called. Throws BAD_OPTION. */
  subscribe<Name extends keyof Events>(name: Name, fn: (event: Events[Name]) => void): () => void
}

/** Makes the channels of one floor; `optionError` makes its BAD_OPTION errors. */
export function eventChannels<Events>(
  prefix: string,
  names: readonly (keyof Events & string)[],
  optionError: (field: string, problem: string) => Error,
): EventChannels<Events> {
  const channels = Object.fromEntries(names.map((name) => [name, channel(`${prefix}.${name}`)])) as {
    readonly [Name in keyof Events]: Channel
  }
  return {
    emit(name, payload) {
      const target = channels[name]
      if (target.hasSubscribers) tell(() => target.publish(payload()))
    },
    isHeard: (name) => channels[name].hasSubscribers,
    subscribe(name, fn) {
      if (typeof name !== 'string' || !Object.hasOwn(channels, name))
        throw optionError('event', `event: expected one of ${names.join(', ')}, got ${show(name)}`)
      if (typeof fn !== 'function')
        throw optionError('subscribe', `subscribe: expected a function, got ${show(fn)}`)
      const listener = (event: unknown): void => fn(event as Events[typeof name])
      channels[name].subscribe(listener)
      return () => void channels[name].unsubscribe(listener)
    },
  }
}

const channels = eventChannels<RuntimeEvents>(
  'caduceus',
  ['crash', 'supervisor', 'progress', 'stray', 'notice', 'blocked'],
  optionError,
)
export const { emit, isHeard } = channels

/** Calls `fn` with each event, from all trees, until the returned function is called. Throws BAD_OPTION. */
export const subscribe: EventChannels<RuntimeEvents>['subscribe'] = channels.subscribe
