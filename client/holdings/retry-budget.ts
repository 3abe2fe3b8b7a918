import type { World } from '../../runtime/time/world.js'
import { isObject } from '../../protocol/wire/json.js'
import { TransportError } from '../../transports/base/errors.js'
import { readRetryAfter } from '../../transports/base/retry-after.js'
import type { RetryBudgetOptions } from '../options/retry.js'

const minute = 60_000

/** A bucket, refilled within a minute: repeats must not multiply a server's load. */
export class RetryBudget {
  readonly #perMinute: number
  #left: number
  #filledAt = 0

  constructor({ perMinute }: RetryBudgetOptions) {
    this.#perMinute = perMinute
    this.#left = perMinute
  }

  /** Ms until the repeat; undefined when the server gave no time, or time or budget do not allow it. */
  waitFor(error: TransportError, deadline: number, world: World): number | undefined {
    const now = world.now()
    const wait = invitationIn(error, world.date())
    if (wait === undefined || now + wait >= deadline || !this.take(now)) return undefined
    return wait
  }

  take(now: number): boolean {
    this.#left = Math.min(this.#perMinute, this.#left + ((now - this.#filledAt) / minute) * this.#perMinute)
    this.#filledAt = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

/** Ms until a busy server (429, 503) wants to be asked again, where an error says so. */
export function invitationIn(error: unknown, wallNow: number): number | undefined {
  if (!(error instanceof TransportError) || error.code !== 'HTTP_STATUS') return undefined
  const { data } = error
  if (!isObject(data)) return undefined
  const { status, retryAfter } = data
  return status === 429 || status === 503 ? readRetryAfter(retryAfter, wallNow) : undefined
}
