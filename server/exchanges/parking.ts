import type { Clock } from '../../runtime/time/clock.js'
import { textOf } from '../../transports/base/encoded.js'
import type { Response } from '../../transports/contract/contract.js'

interface Parkable {
  /** The principal it is counted by; undefined: only the limit for all counts. */
  readonly owner: string | undefined
  /** Characters of its request, which it keeps. */
  readonly weight: number
  expire(): void
}

/**
 * Runs of one principal, characters of all, and ms, that are parked at most; the outcome of others is the
 * same.
 */
const maxPerPrincipal = 16
const maxWeight = 64 * 1024 * 1024
const longest = 10 * 60_000

/** Runs that wait for their client's answer, each for a limited time, and a limited number of them. */
export class Parking<Item extends Parkable> {
  readonly #max: number
  readonly #clock: Clock
  readonly #items = new Map<string, { readonly item: Item; readonly timer: unknown }>()
  readonly #perOwner = new Map<string, number>()
  #weight = 0

  constructor(max: number, clock: Clock) {
    this.#max = max
    this.#clock = clock
  }

  get size(): number {
    return this.#items.size
  }

  get(key: string): Item | undefined {
    return this.#items.get(key)?.item
  }

  /** Keeps it for `time` ms at most, in place of what had the key before; false when there is no room. */
  park(key: string, item: Item, time: number): boolean {
    this.take(key)?.expire()
    const { owner, weight } = item
    const ofOwner = owner === undefined ? 0 : (this.#perOwner.get(owner) ?? 0)
    if (this.#items.size >= this.#max || ofOwner >= maxPerPrincipal) return false
    if (this.#weight + weight > maxWeight) return false
    this.#weight += weight
    if (owner !== undefined) this.#perOwner.set(owner, ofOwner + 1)
    const expire = () => this.take(key)?.expire()
    const timer = this.#clock.setTimeout(expire, Math.min(time, longest))
    this.#items.set(key, { item, timer })
    return true
  }

  take(key: string): Item | undefined {
    const parked = this.#items.get(key)
    if (parked === undefined) return undefined
    this.#items.delete(key)
    this.#clock.clearTimeout(parked.timer)
    const { owner, weight } = parked.item
    this.#weight -= weight
    if (owner === undefined) return parked.item
    const left = (this.#perOwner.get(owner) ?? 1) - 1
    if (left > 0) this.#perOwner.set(owner, left)
    else this.#perOwner.delete(owner)
    return parked.item
  }
}

/** Kept outcomes at once, and characters of their JSON text in all. */
const maxKept = 1_000
const maxCharacters = 16 * 1024 * 1024

interface KeptOutcome {
  readonly text: string
  readonly until: number
}

/** What the answers to rounds have led to, for retries made twice; beyond the bound the oldest is dropped. */
export class KeptOutcomes {
  readonly #kept = new Map<string, KeptOutcome>()
  readonly #now: () => number
  #characters = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#kept.size
  }

  /** Keeps the outcome of a round for `time` ms: so long can its state be sent again. */
  keep(round: string, response: Response, time: number): void {
    this.#forget(round)
    const text = textOf(response)
    this.#kept.set(round, { text, until: this.#now() + time })
    this.#characters += text.length
    for (const [oldest, { until }] of this.#kept) {
      const fits = this.#kept.size <= maxKept && this.#characters <= maxCharacters
      if (fits && until > this.#now()) return
      this.#forget(oldest)
    }
  }

  get(round: string): Response | undefined {
    const kept = this.#kept.get(round)
    if (kept !== undefined && kept.until > this.#now()) return JSON.parse(kept.text)
    this.#forget(round)
    return undefined
  }

  #forget(round: string): void {
    const kept = this.#kept.get(round)
    if (kept === undefined) return
    this.#kept.delete(round)
    this.#characters -= kept.text.length
  }
}
