import type { Actor } from './actor.js'
import type { Handlers, InputOf, ReplyOf } from './behaviour.js'
import { refused } from './call.js'
import { currentOwner } from '../faults/containment.js'
import { RuntimeError, show } from '../base/errors.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { handled } from '../base/promise.js'
import {
  type ActorRef,
  type CallOptions,
  callActor,
  type MessageArgs,
  processOf,
  wrongOptions,
} from './ref.js'
import type { Registry } from './registry.js'

/**
 * What is known of a name: being started (or started again), up, ended for good with the reason, or never
 * heard of.
 */
export type NameState =
  | { readonly state: 'starting' }
  | { readonly state: 'up'; readonly ref: ActorRef }
  | { readonly state: 'ended'; readonly reason: ExitReason }
  | { readonly state: 'unknown' }

/**
 * Reaches whoever holds a name when a message is sent; survives restarts, as an ActorRef does not (OTP: via
 * tuple).
 */
export class NamedRef<
  Calls extends Handlers<never> = Record<never, never>,
  Casts extends Handlers<never> = Record<never, never>,
> {
  readonly name: string
  readonly #registry: Registry

  constructor(registry: Registry, name: string) {
    this.#registry = registry
    this.name = name
  }

  /** The incarnation that holds the name now, if any. */
  get current(): ActorRef<Calls, Casts> | undefined {
    return this.#registry.whereis(this.name) as ActorRef<Calls, Casts> | undefined
  }

  /**
   * As `ActorRef.call`, with one deadline over waiting for the name and for the reply. A call that finds the
   * name between two incarnations waits for the next; rejects with GAVE_UP once it has ended for good, NOPROC
   * when nobody ever had the name.
   */
  call<Name extends keyof Calls & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Calls[Name]>, CallOptions>
  ): Promise<ReplyOf<Calls[Name]>> {
    const [input, options] = args
    return this.#call(name, input, options) as Promise<ReplyOf<Calls[Name]>>
  }

  /** As `ActorRef.cast`: false when nobody holds the name now. */
  cast<Name extends keyof Casts & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Casts[Name]>, never>
  ): boolean {
    return this.current?.cast(name, ...args) ?? false
  }

  /**
   * As `ActorRef.send`, but throws NOPROC or GAVE_UP when nobody holds the name (OTP: a bare send to an
   * unknown name is badarg).
   */
  send(message: unknown): boolean {
    const { current } = this
    if (current === undefined) {
      const known = this.#registry.state(this.name)
      if (known.state === 'starting') return false
      throw goneError(this.name, known)
    }
    return current.send(message)
  }

  #call(name: string, input: unknown, options: CallOptions | undefined): Promise<unknown> {
    const actor = this.#holder()
    if (actor !== undefined) return callActor(actor, name, input, options)
    const wrong = options === undefined ? undefined : wrongOptions(options)
    return wrong === undefined ? handled(this.#callWhenUp(name, input, options ?? {})) : refused(wrong)
  }

  async #callWhenUp(name: string, input: unknown, { timeout = 5_000 }: CallOptions): Promise<unknown> {
    const clock = this.#registry.clockOf(this.name)
    const deadline = clock.now() + timeout
    let left = timeout
    // The one that comes up may be gone again before this goes on: then the wait does, too.
    while (true) {
      await this.#registry.whenUp(this.name, left)
      left = Math.max(0, Math.ceil(deadline - clock.now()))
      const actor = this.#holder()
      if (actor !== undefined) return callActor(actor, name, input, { timeout: left })
    }
  }

  /**
   * Who takes a call now: the actor that is up, or the caller itself while it starts, which is refused as a
   * call to itself.
   */
  #holder(): Actor | undefined {
    const known = this.#registry.state(this.name)
    if (known.state === 'up') return processOf(known.ref) as Actor
    const { current } = this
    const actor = current === undefined ? undefined : (processOf(current) as Actor)
    return actor !== undefined && actor.token === currentOwner() ? actor : undefined
  }
}

/** The error for a name that did not come up in time; nothing was sent. */
export function notUpError(name: string, ms: number): RuntimeError {
  const message = `${show(name)} was not up within ${ms} ms`
  return new RuntimeError('TIMEOUT', message, { retryable: true, data: { name, ms, sent: false } })
}

/** The error for a name that nobody holds: GAVE_UP when it ended for good, NOPROC when it was never there. */
export function goneError(name: string, known: NameState): RuntimeError {
  if (known.state !== 'ended')
    return new RuntimeError('NOPROC', `nobody is called ${show(name)}`, { data: { name, sent: false } })
  const { reason } = known
  return new RuntimeError('GAVE_UP', `${show(name)} has ended for good (${formatReason(reason)})`, {
    data: { name, reason, sent: false },
    ...(reason.type === 'crash' ? { cause: reason.error } : {}),
  })
}
