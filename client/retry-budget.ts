import { isObject } from '../protocol/json.js'
import type { Clock } from '../runtime/clock.js'
import { TransportError } from '../transports/errors.js'
import { readRetryAfter } from '../transports/http-retry-after.js'

/** How often calls that a busy server turned away (429, 503) are made again when it says after how long (`Retry-After`). */
export interface RetryBudgetOptions {
  /** Repetitions of all calls of the client within a minute; more fail at once. */
  readonly perMinute: number
}

const minute = 60_000

/** A bucket of repetitions that fills up again over a minute: clients of a server in trouble must not multiply its load. */
export class RetryBudget {
  readonly #clock: Clock
  readonly #perMinute: number
  #left: number
  #filledAt: number

  constructor({ perMinute }: RetryBudgetOptions, clock: Clock) {
    this.#clock = clock
    this.#perMinute = perMinute
    this.#left = perMinute
    this.#filledAt = clock.now()
  }

  /** How long to wait before the call is made again; undefined: it is not, for want of an invitation, of time before `deadline`, or of budget. */
  waitFor(error: TransportError, deadline: number): number | undefined {
    const now = this.#clock.now()
    const wait = invitationIn(error, Date.now())
    if (wait === undefined || now + wait >= deadline || !this.#take(now)) return undefined
    return wait
  }

  #take(now: number): boolean {
    this.#left = Math.min(this.#perMinute, this.#left + ((now - this.#filledAt) / minute) * this.#perMinute)
    this.#filledAt = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

/** Milliseconds after which a busy server (429, 503) wants to be asked again; undefined when an error says nothing of it. */
export function invitationIn(error: unknown, wallNow: number): number | undefined {
  if (!(error instanceof TransportError) || error.code !== 'HTTP_STATUS') return undefined
  const { data } = error
  if (!isObject(data)) return undefined
  const { status, retryAfter } = data
  return status === 429 || status === 503 ? readRetryAfter(retryAfter, wallNow) : undefined
}
