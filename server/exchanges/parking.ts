import type { Clock } from '../../runtime/time/clock.js'
import type { ParkingLimits } from '../holdings/options.js'

/** What can be kept until it is wanted again. */
export interface Parkable {
  /** Whose it is; undefined: nobody's in particular. */
  readonly owner: string | undefined
  /** Its time is up. */
  expire(): void
}

interface Parked<Item> {
  readonly item: Item
  readonly timer: unknown
}

/** What waits for a client, each for a while, and as much of it as there is room for. */
export class Parking<Item extends Parkable> {
  readonly #limits: ParkingLimits
  readonly #clock: Clock
  readonly #items = new Map<string, Parked<Item>>()
  readonly #perOwner = new Map<string, number>()

  constructor(limits: ParkingLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    return this.#items.size
  }

  get(key: string): Item | undefined {
    return this.#items.get(key)?.item
  }

  /**
   * Keeps it for `time` ms at most, and no longer what had the key before; false when there is no room for
   * it.
   */
  park(key: string, item: Item, time: number): boolean {
    this.take(key)?.expire()
    const { owner } = item
    const { max, maxPerPrincipal } = this.#limits
    const ofOwner = owner === undefined ? 0 : (this.#perOwner.get(owner) ?? 0)
    if (this.#items.size >= max || ofOwner >= maxPerPrincipal) return false
    if (owner !== undefined) this.#perOwner.set(owner, ofOwner + 1)
    const expire = () => this.take(key)?.expire()
    const timer = this.#clock.setTimeout(expire, Math.min(time, this.#limits.time))
    this.#items.set(key, { item, timer })
    return true
  }

  /** Hands it out and keeps it no longer. */
  take(key: string): Item | undefined {
    const parked = this.#items.get(key)
    if (parked === undefined) return undefined
    this.#items.delete(key)
    this.#clock.clearTimeout(parked.timer)
    const { owner } = parked.item
    if (owner === undefined) return parked.item
    const left = (this.#perOwner.get(owner) ?? 1) - 1
    if (left > 0) this.#perOwner.set(owner, left)
    else this.#perOwner.delete(owner)
    return parked.item
  }
}
