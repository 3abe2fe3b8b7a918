import type { Clock } from '../../runtime/time/clock.js'
import type { Demand } from '../base/demand.js'
import { type ClientError, givenUpError } from '../base/errors.js'
import type { PoolMember } from './member.js'
import { SharedSignals } from '../base/shared-signals.js'

/** What somebody wants of a pool. */
export interface Want {
  /** For errors: the method of a call, or `checkout`. */
  readonly what: string
  /** Whether nobody else may use the member meanwhile. */
  readonly exclusive: boolean
  /** Members that did not take it: whoever else is free is asked first. */
  readonly avoid?: ReadonlySet<PoolMember>
  /** Milliseconds to wait for a member. */
  readonly timeout: number
  /** Whether it waits at all. Default true. */
  readonly wait?: boolean
  readonly signal: AbortSignal | undefined
}

/** One who waits for a member. */
export interface Waiter {
  readonly want: Want
  /** The member that is kept for it, until nobody else uses that. */
  kept: PoolMember | undefined
  /** Ends the wait with a member, or with an error. */
  settle(outcome: PoolMember | ClientError): void
}

/** Those who wait for a member, in the order they came. */
export class PoolQueue {
  readonly #clock: Clock
  readonly #demand: Demand
  readonly #signals = new SharedSignals()
  readonly #waiters = new Set<Waiter>()

  constructor(clock: Clock, demand: Demand) {
    this.#clock = clock
    this.#demand = demand
  }

  get size(): number {
    return this.#waiters.size
  }

  /** Who came first among those for whom no member is kept. */
  first(): Waiter | undefined {
    for (const waiter of this.#waiters) if (waiter.kept === undefined) return waiter
    return undefined
  }

  all(): Waiter[] {
    return [...this.#waiters]
  }

  /**
   * Waits until it is settled, its time is over (`late` makes the error), or its signal aborts; `left` is
   * told that it gave up.
   */
  wait(
    want: Want,
    late: () => ClientError,
    left: (waiter: Waiter) => void,
  ): { readonly waiter: Waiter; readonly member: Promise<PoolMember> } {
    let settle: Waiter['settle'] = () => {}
    const member = new Promise<PoolMember>((resolve, reject) => {
      settle = (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))
    })
    const { timeout, signal } = want
    const giveUp = (error: ClientError): void => {
      waiter.settle(error)
      left(waiter)
    }
    const onAbort = (): void => giveUp(cancelled(want))
    const timer = Number.isFinite(timeout)
      ? this.#clock.setTimeout(() => giveUp(late()), Math.max(0, timeout))
      : undefined
    const unlisten = signal && this.#signals.listen(signal, onAbort)
    const done = this.#demand.begin()
    const waiter: Waiter = {
      want,
      kept: undefined,
      settle: (outcome) => {
        this.#waiters.delete(waiter)
        if (timer !== undefined) this.#clock.clearTimeout(timer)
        unlisten?.()
        done()
        settle(outcome)
      },
    }
    this.#waiters.add(waiter)
    return { waiter, member }
  }
}

/** The error for a wait that the caller gave up. */
export function cancelled({ what, signal }: Want): ClientError {
  return givenUpError(what, signal?.reason)
}
