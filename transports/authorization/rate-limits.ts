import type { World } from '../../runtime/time/world.js'
import { networkOf } from '../base/network.js'

type Limited = 'register' | 'authorize' | 'other'

/** Requests of one network in each period, in ms. */
const limits: { readonly [Kind in Limited]: { readonly max: number; readonly period: number } } = {
  register: { max: 60, period: 600_000 },
  authorize: { max: 60, period: 60_000 },
  other: { max: 600, period: 60_000 },
}
/** Networks that are counted; beyond that the oldest is forgotten. */
const maxNetworks = 10_000

interface Count {
  readonly since: number
  count: number
}

/** How often one network may register clients, and ask for tokens and pages. */
export class RateLimits {
  readonly #now: () => number
  readonly #counts = new Map<string, Count>()

  constructor({ now }: Pick<World, 'now'>) {
    this.#now = now
  }

  /** Counts a request; answers how many ms its network has to wait, if it has to. */
  take(kind: Limited, address: string): number | undefined {
    const { max, period } = limits[kind]
    // anybody may have a /48 of IPv6
    const key = `${kind} ${networkOf(address).split(':').slice(0, 3).join(':')}`
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
