import { type Channel, channel } from 'node:diagnostics_channel'
import { tell } from './containment.js'
import type { ExitReason } from '../base/exit.js'
import { optionError, show } from '../base/errors.js'

/** Who an event is about. */
export interface ProcessFacts {
  /** Which tree of this process of Node it lives in. */
  readonly tree: number
  /** Unique within its tree, and never used again. */
  readonly id: number
  /** The name of its behaviour, or what it was started as. */
  readonly name: string
}

/** A process ended by an error (OTP: crash report). */
export interface CrashEvent extends ProcessFacts {
  readonly reason: ExitReason
  /**
   * What it was doing: `init`, the name of the message handler, `terminate`, or `stray` for a stray error.
   */
  readonly during: string
  /** Messages that were waiting and are lost. */
  readonly mailbox: number
  /**
   * What the behaviour's `formatStatus` made of the state; undefined without one: a state may hold secrets.
   */
  readonly status: unknown
  readonly ancestors: readonly string[]
}

/** A supervisor's account of a child's end (OTP: supervisor report). */
export interface SupervisorEvent {
  readonly tree: number
  readonly supervisor: string
  readonly context: 'start_error' | 'child_terminated' | 'shutdown_error' | 'shutdown'
  readonly reason: ExitReason | 'reached_max_restart_intensity'
  readonly child: { readonly id: string; readonly process: number | undefined; readonly restart: string }
}

/** A child was started, or started again (OTP: progress report). */
export interface ProgressEvent {
  readonly tree: number
  readonly supervisor: string
  readonly child: { readonly id: string; readonly process: number | undefined }
  readonly restarted: boolean
}

/** An error that no handler owned: what containment did with it. */
export interface StrayEvent {
  readonly tree: number
  readonly error: unknown
  readonly kind: 'rejection' | 'throw'
  /** The task or actor whose code left it; undefined if no owner is known. */
  readonly owner: string | undefined
  /** What it did: it failed its owner, was only reported, stopped the tree, or ended the program. */
  readonly outcome: 'failed' | 'reported' | 'stopped' | 'exited'
}

/** A warning for people; no process ended. */
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

/** Every event of the runtime by name; each is a `diagnostics_channel` called `caduceus.<name>`. */
export interface RuntimeEvents {
  crash: CrashEvent
  supervisor: SupervisorEvent
  progress: ProgressEvent
  stray: StrayEvent
  notice: NoticeEvent
}

/** The events of one floor: each is a `diagnostics_channel` called `PREFIX.NAME`. */
export interface EventChannels<Events> {
  /** Tells subscribers. The payload is made only when somebody listens; what they throw is nobody's crash. */
  emit<Name extends keyof Events>(name: Name, payload: () => Events[Name]): void
  /** Whether anybody listens. */
  isHeard(name: keyof Events): boolean
  /** Calls `fn` with every event of that name, until the returned function is called. Throws BAD_OPTION. */
  subscribe<Name extends keyof Events>(name: Name, fn: (event: Events[Name]) => void): () => void
}

/** Makes the channels of one floor, which pass their BAD_OPTION errors to `optionError` of that floor. */
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
      return () => {
        channels[name].unsubscribe(listener)
      }
    },
  }
}

const channels = eventChannels<RuntimeEvents>(
  'caduceus',
  ['crash', 'supervisor', 'progress', 'stray', 'notice'],
  optionError,
)
export const { emit, isHeard } = channels

/**
 * Hears every event of that name in this process of Node until the returned function is called. Throws
 * BAD_OPTION.
 */
export const subscribe: EventChannels<RuntimeEvents>['subscribe'] = channels.subscribe
