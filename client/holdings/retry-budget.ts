import { isObject } from '../../protocol/wire/json.js'
import { TransportError } from '../../transports/base/errors.js'
import { readRetryAfter } from '../../transports/base/retry-after.js'
import type { RetryBudgetOptions } from '../options/retry.js'

const minute = 60_000

/**
 * A bucket of repetitions that fills up again over a minute: clients of a server in trouble must not multiply
 * its load.
 */
export class RetryBudget {
  readonly #perMinute: number
  #left: number
  #filledAt = 0

  constructor({ perMinute }: RetryBudgetOptions) {
    this.#perMinute = perMinute
    this.#left = perMinute
  }

  /**
   * How long to wait before the call is made again; undefined: it is not, for want of an invitation, of time
   * before `deadline`, or of budget.
   */
  waitFor(error: TransportError, deadline: number, now: number): number | undefined {
    const wait = invitationIn(error, Date.now())
    if (wait === undefined || now + wait >= deadline || !this.take(now)) return undefined
    return wait
  }

  /** Whether one more repetition may be made now; it counts. */
  take(now: number): boolean {
    this.#left = Math.min(this.#perMinute, this.#left + ((now - this.#filledAt) / minute) * this.#perMinute)
    this.#filledAt = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

/**
 * Milliseconds after which a busy server (429, 503) wants to be asked again; undefined when an error says
 * nothing of it.
 */
export function invitationIn(error: unknown, wallNow: number): number | undefined {
  if (!(error instanceof TransportError) || error.code !== 'HTTP_STATUS') return undefined
  const { data } = error
  if (!isObject(data)) return undefined
  const { status, retryAfter } = data
  return status === 429 || status === 503 ? readRetryAfter(retryAfter, wallNow) : undefined
}
