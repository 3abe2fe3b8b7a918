import { isObject } from '../protocol/json.js'
import type { Clock } from '../runtime/clock.js'
import type { TransportError } from '../transports/errors.js'

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

/** Seconds, or a date by the clock on the wall (RFC 9110, section 10.2.3); in ms, undefined without any. */
function invitationIn({ code, data }: TransportError, wallNow: number): number | undefined {
  if (code !== 'HTTP_STATUS' || !isObject(data)) return undefined
  const { status, retryAfter } = data
  if ((status !== 429 && status !== 503) || typeof retryAfter !== 'string') return undefined
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * 1_000
  const at = Date.parse(retryAfter)
  return Number.isNaN(at) ? undefined : Math.max(0, at - wallNow)
}
