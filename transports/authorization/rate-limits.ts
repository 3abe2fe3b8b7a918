import type { World } from '../../runtime/time/world.js'
import { siteOf } from '../base/network.js'

/** How many requests of one network there may be: all who come through one proxy or host are one. */
export interface SignInLimits {
  /** Registrations of clients in ten minutes. Default 60. */
  readonly registrations?: number
  /** Authorizations begun in a minute. Default 60. */
  readonly authorizations?: number
  /** Other requests in a minute, such as for tokens. Default 600. */
  readonly requests?: number
}

/** Milliseconds of each. */
const periods = {
  registrations: 600_000,
  authorizations: 60_000,
  requests: 60_000,
} as const
/** Networks that are counted; beyond that the oldest is forgotten. */
const maxNetworks = 10_000

interface Count {
  readonly since: number
  count: number
}

/** How often one network may register clients, and ask for tokens and pages. */
export class RateLimits {
  readonly #limits: Required<SignInLimits>
  readonly #now: () => number
  readonly #counts = new Map<string, Count>()

  constructor(limits: Required<SignInLimits>, { now }: Pick<World, 'now'>) {
    this.#limits = limits
    this.#now = now
  }

  /** Counts a request; answers how many ms its network has to wait, if it has to. */
  take(kind: keyof SignInLimits, address: string): number | undefined {
    const [max, period] = [this.#limits[kind], periods[kind]]
    const key = `${kind} ${siteOf(address)}`
    const now = this.#now()
    const known = this.#counts.get(key)
    if (known !== undefined && now - known.since < period) {
      known.count += 1
      return known.count > max ? known.since + period - now : undefined
    }
    this.#counts.delete(key)
    this.#counts.set(key, { since: now, count: 1 })
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > maxNetworks && oldest !== undefined) this.#counts.delete(oldest)
    return undefined
  }
}
