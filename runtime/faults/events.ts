import { type Channel, channel } from 'node:diagnostics_channel'
import { tell } from './containment.js'
import type { ExitReason } from '../base/exit.js'
import { badOption, checkFunction } from '../base/check.js'

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
  /** Whose it was; undefined when it belonged to nobody. */
  readonly owner: string | undefined
  /**
   * What came of it: it failed whose it was, was only told, ended the tree of nobody's error, or the whole
   * program.
   */
  readonly outcome: 'failed' | 'reported' | 'stopped' | 'exited'
}

/** Something a person should know that ended nobody. */
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

const channels: { readonly [Name in keyof RuntimeEvents]: Channel } = {
  crash: channel('caduceus.crash'),
  supervisor: channel('caduceus.supervisor'),
  progress: channel('caduceus.progress'),
  stray: channel('caduceus.stray'),
  notice: channel('caduceus.notice'),
}

/**
 * Tells subscribers of an event; the payload is made only when somebody listens, and what they throw is
 * nobody's crash.
 */
export function emit<Name extends keyof RuntimeEvents>(name: Name, payload: () => RuntimeEvents[Name]): void {
  const target = channels[name]
  if (target.hasSubscribers) tell(() => target.publish(payload()))
}

/** Whether anybody listens. */
export function isHeard(name: keyof RuntimeEvents): boolean {
  return channels[name].hasSubscribers
}

/**
 * Hears every event of that name in this process of Node until the returned function is called. Throws
 * BAD_OPTION.
 */
export function subscribe<Name extends keyof RuntimeEvents>(
  name: Name,
  fn: (event: RuntimeEvents[Name]) => void,
): () => void {
  if (typeof name !== 'string' || !Object.hasOwn(channels, name))
    throw badOption('event', `one of ${Object.keys(channels).join(', ')}`, name)
  checkFunction(fn, 'subscribe')
  const listener = (event: unknown): void => fn(event as RuntimeEvents[Name])
  channels[name].subscribe(listener)
  return () => {
    channels[name].unsubscribe(listener)
  }
}
