/** Named handlers, as far as those who send messages see them: what each takes and answers. */
export type Messages = { readonly [name: string]: (...args: never[]) => unknown }

/** What a handler takes besides the state; `never` when it takes nothing. */
export type InputOf<H> = H extends (...args: infer Args) => unknown
  ? Args extends readonly [] | readonly [unknown]
    ? never
    : Args[1]
  : never

/** What a call answers: the handler's return value, its promise's value, or what it deferred. */
export type ReplyOf<H> = H extends (...args: never[]) => infer R ? Settled<Awaited<R>> : never

type Settled<R> = R extends Deferred<infer T> ? T : Exclude<R, Refusal>

declare const deferred: unique symbol

/**
 * A reply to be given later: returned by the handler, settled whenever; a second settling is dropped (OTP:
 * gen_server:reply).
 */
export interface Deferred<T> {
  readonly [deferred]: T
  resolve(value: T): void
  reject(error: unknown): void
}

/** A call's answer that is an error: the caller's promise rejects with it, and the actor goes on. */
export class Refusal {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** Answers a call with an error without crashing: `return refuse(new Error('no such account'))`. */
export function refuse(error: unknown): Refusal {
  return new Refusal(error)
}

/**
 * Answered by `init` when there is nothing to do: the start answers `IGNORED`, and a supervisor goes on
 * without it.
 */
export const ignore: unique symbol = Symbol('ignore')

/** The answer of an `init` that declines to start. */
export type Ignore = typeof ignore

/** One message handler, looked up when a message is sent. */
export class Entry {
  readonly name: string
  readonly kind: 'call' | 'cast' | 'info'
  readonly run: (state: unknown, input: unknown, ctx: unknown) => unknown

  constructor(name: string, kind: 'call' | 'cast' | 'info', run: Entry['run']) {
    this.name = name
    this.kind = kind
    this.run = run
  }
}

declare const types: unique symbol

/** What an actor runs: the definition that `defineActor` has checked, without what its handlers are given. */
export interface Program<
  State = unknown,
  Input = never,
  Calls extends Messages = never,
  Casts extends Messages = never,
> {
  /** For inference alone: no program has it. */
  readonly [types]?: { state: State; input: Input; calls: Calls; casts: Casts }
  readonly name: string
  readonly kind: 'actor' | 'supervisor'
  readonly definition: {
    readonly init: unknown
    readonly terminate?: unknown
    readonly formatStatus?: unknown
    readonly call?: unknown
  }
  readonly calls: ReadonlyMap<string, Entry>
  readonly casts: ReadonlyMap<string, Entry>
  readonly info: {
    readonly [Kind in 'message' | 'timer' | 'timeout' | 'down' | 'exit']: Entry | undefined
  }
  readonly trapExit: boolean
  readonly mailboxLimit: number
  readonly stray: 'crash' | 'report'
  readonly terminateTimeout: number
}
