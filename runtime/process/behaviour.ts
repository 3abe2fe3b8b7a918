import { RuntimeError } from '../base/errors.js'
import { isRecord, optionReaders } from '../base/read-options.js'
import type { ExitReason } from '../base/exit.js'
import type { ActorContext } from './context.js'
import type { Monitor, ProcessRef } from './process.js'
import { Entry, type Ignore, type Program } from './program.js'

export { type Deferred, type Ignore, ignore, type Refusal, refuse } from './program.js'

/** Handles one message: the state, its input, the context. Answers a call with its result or promise. */
export type Handler<State> = (state: State, input: never, ctx: ActorContext) => unknown

/** Handlers of an actor, by the name of their message. */
export type Handlers<State> = { readonly [name: string]: Handler<State> }

/** A monitored process ended (OTP: 'DOWN' message). */
export interface Down {
  readonly monitor: Monitor
  readonly process: ProcessRef
  readonly reason: ExitReason
}

/** An exit signal as a message, with `trapExit` (OTP: 'EXIT' message). */
export interface Exit {
  readonly from: ProcessRef | null
  readonly reason: ExitReason
}

/** Messages from the runtime and from `ref.send`. */
export interface InfoHandlers<State> {
  /** A message of `ref.send`. */
  message?(state: State, message: unknown, ctx: ActorContext): unknown
  /** A timer of `ctx.sendAfter` or `ctx.startTimer` fired. */
  timer?(state: State, payload: unknown, ctx: ActorContext): unknown
  /** No message came within the time of `ctx.idleAfter`. */
  timeout?(state: State, nothing: undefined, ctx: ActorContext): unknown
  /** A monitored process ended. */
  down?(state: State, down: Down, ctx: ActorContext): unknown
  /** A linked process ended; only with `trapExit`. The parent's exit ends the actor instead. */
  exit?(state: State, exit: Exit, ctx: ActorContext): unknown
}

/** The definition of an actor. */
export interface ActorDefinition<State, Input, Calls extends Handlers<State>, Casts extends Handlers<State>> {
  /** Shown in reports, trees and errors. */
  name: string
  /** Makes the state. A throw fails the start; `ignore` declines it. */
  init(input: Input, ctx: ActorContext): State | Ignore | Promise<State | Ignore>
  /** Messages with a reply. */
  call?: Calls & Handlers<State>
  /** Messages without a reply. */
  cast?: Casts & Handlers<State>
  /** Messages from the runtime and from `ref.send`. */
  info?: InfoHandlers<State>
  /**
   * Cleans up after `ref.stop`, `ctx.stop` and a throw of a handler. When its supervisor or parent stops it,
   * it runs only with `trapExit: true` (as in OTP), else the actor ends at once. Never after a kill or a stray
   * error. What has to be released in every case belongs to `ctx.own`.
   */
  terminate?(state: State, reason: ExitReason, ctx: ActorContext): unknown
  /** What reports and `getStatus` may show of the state. Default: nothing. */
  formatStatus?(state: State): unknown
  /**
   * Exit signals of linked processes become `info.exit`, and a stop by the supervisor or parent runs
   * `terminate`, after the messages before it (OTP: trap_exit). Default false.
   */
  trapExit?: boolean
  /** Waiting messages before calls reject with MAILBOX_FULL and casts are dropped. Default 100,000. */
  mailboxLimit?: number
  /** A stray error of its code ends it (`crash`) or is only reported (`report`). Default `crash`. */
  stray?: 'crash' | 'report'
  /** Milliseconds for an asynchronous `terminate` if no supervisor sets the limit. Default 5000. */
  terminateTimeout?: number
}

/** A checked and frozen actor definition; start any number of actors from it. */
export interface Behaviour<
  State = unknown,
  Input = never,
  Calls extends Handlers<State> = never,
  Casts extends Handlers<State> = never,
> extends Program<State, Input, Calls, Casts> {
  readonly definition: ActorDefinition<State, Input, Calls, Casts>
}

/**
 * Defines an actor; types are inferred from `init` and the handlers. Handlers change the state in place, one
 * message at a time; a crash discards it. Throws BAD_BEHAVIOUR, naming the field.
 */
export function defineActor<
  State,
  Input,
  Calls extends Handlers<State> = Record<never, never>,
  Casts extends Handlers<State> = Record<never, never>,
>(definition: ActorDefinition<State, Input, Calls, Casts>): Behaviour<State, Input, Calls, Casts> {
  checkShape(definition)
  return behaviourOf(definition, 'actor')
}

export function behaviourOf<State, Input, Calls extends Handlers<State>, Casts extends Handlers<State>>(
  definition: ActorDefinition<State, Input, Calls, Casts>,
  kind: 'actor' | 'supervisor',
): Behaviour<State, Input, Calls, Casts> {
  const {
    name,
    info = {},
    trapExit = false,
    mailboxLimit = 100_000,
    stray = 'crash',
    terminateTimeout = 5_000,
  } = definition
  return Object.freeze({
    name,
    kind,
    definition: Object.freeze({ ...definition }),
    calls: entries(name, 'call', definition.call),
    casts: entries(name, 'cast', definition.cast),
    info: Object.freeze({
      message: infoEntry(name, 'message', info.message),
      timer: infoEntry(name, 'timer', info.timer),
      timeout: infoEntry(name, 'timeout', info.timeout),
      down: infoEntry(name, 'down', info.down),
      exit: infoEntry(name, 'exit', info.exit),
    }),
    trapExit,
    mailboxLimit,
    stray,
    terminateTimeout,
  })
}

type Field = readonly [expected: string, fits: (value: unknown) => boolean]

const fn: Field = ['a function', (value) => typeof value === 'function']
const handlers: Field = ['an object of functions', isRecord]
const fields: Readonly<Record<keyof ActorDefinition<unknown, unknown, never, never>, Field>> = {
  name: ['a non-empty string', (value) => typeof value === 'string' && value !== ''],
  init: fn,
  call: handlers,
  cast: handlers,
  info: handlers,
  terminate: fn,
  formatStatus: fn,
  trapExit: ['a boolean', (value) => typeof value === 'boolean'],
  mailboxLimit: ['a number above 0', isPositive],
  stray: ["'crash' or 'report'", (value) => value === 'crash' || value === 'report'],
  terminateTimeout: ['milliseconds above 0', isPositive],
}
const required = ['name', 'init']
const { badOption: bad } = optionReaders(
  (field, problem) => new RuntimeError('BAD_BEHAVIOUR', problem, { data: { field } }),
)

function checkShape(definition: object): void {
  if (!isRecord(definition)) throw bad('definition', 'an object', definition)
  for (const [field, [expected, fits]] of Object.entries(fields)) {
    const value = definition[field]
    if ((value !== undefined || required.includes(field)) && !fits(value)) throw bad(field, expected, value)
  }
  checkNames('', Object.keys(fields), definition)
  checkNames('info.', ['message', 'timer', 'timeout', 'down', 'exit'], definition.info ?? {})
}

function checkNames(prefix: string, known: readonly string[], given: object): void {
  for (const name of Object.keys(given))
    if (!known.includes(name)) throw bad(prefix + name, `one of ${known.join(', ')}`, name)
}

function entries(
  behaviour: string,
  kind: 'call' | 'cast',
  handlers: object = {},
): ReadonlyMap<string, Entry> {
  return new Map(Object.entries(handlers).map(([name, run]) => [name, entry(behaviour, kind, name, run)]))
}

function infoEntry(behaviour: string, name: string, run: unknown): Entry | undefined {
  return run === undefined ? undefined : entry(behaviour, 'info', name, run)
}

function entry(behaviour: string, kind: 'call' | 'cast' | 'info', name: string, run: unknown): Entry {
  if (typeof run !== 'function') throw bad(`${behaviour}.${kind}.${name}`, 'a function', run)
  return new Entry(name, kind, run as Entry['run'])
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}
