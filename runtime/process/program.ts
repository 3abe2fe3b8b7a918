export type Messages = { readonly [name: string]: (...args: never[]) => unknown }

export type InputOf<H> = H extends (...args: infer Args) => unknown
  ? Args extends readonly [] | readonly [unknown]
    ? never
    : Args[1]
  : never

/** A call's reply: the handler's result, its promise's value, or what it deferred. */
export type ReplyOf<H> = H extends (...args: never[]) => infer R ? SettledReply<Awaited<R>> : never

type SettledReply<R> = R extends Deferred<infer T> ? T : Exclude<R, Refusal>

declare const deferred: unique symbol

/** A reply for later: return it from the handler, settle it once (OTP: gen_server:reply). */
export interface Deferred<T> {
  readonly [deferred]: T
  resolve(value: T): void
  reject(error: unknown): void
}

/** An error as a call's reply: the caller's promise rejects, and the actor goes on. */
export class Refusal {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** Replies with an error without crashing: `return refuse(new Error('no such account'))`. */
export function refuse(error: unknown): Refusal {
  return new Refusal(error)
}

/** Returned by `init` to decline: the start rejects with IGNORED, and a supervisor goes on without it. */
export const ignore: unique symbol = Symbol('ignore')

/** The type of `ignore`: what `init` answers where there is nothing to start. */
export type Ignore = typeof ignore

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

export interface Program<
  State = unknown,
  Input = never,
  Calls extends Messages = never,
  Casts extends Messages = never,
> {
  /** For inference only. */
  readonly [types]?: { state: State; input: Input; calls: Calls; casts: Casts }
  readonly name: string
  readonly kind: 'actor' | 'supervisor'
  /** Another class of actor than usual, as for one that stands in for an actor elsewhere. */
  readonly actor?: new (
    ...args: never[]
  ) => object
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
