import { among } from '../../runtime/base/near.js'
import { isObject } from '../../protocol/wire/json.js'
import type { Clock } from '../../runtime/time/clock.js'
import { show } from '../../runtime/base/errors.js'
import { isCount } from '../../runtime/supervision/options.js'
import { type ServerError, optionError } from '../base/errors.js'

/** How calls are kept that wait for their client's answer. */
export interface ParkingOptions {
  /** Milliseconds that one is kept at most. Default 10 min. */
  readonly time?: number
  /** How many at once. Default 1,000. */
  readonly max?: number
  /** How many of one principal at once; those of nobody in particular are not counted apart. Default 16. */
  readonly maxPerPrincipal?: number
}

/** Checked limits. */
export type ParkingLimits = Readonly<Required<ParkingOptions>>

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

const defaults: ParkingLimits = Object.freeze({ time: 10 * 60_000, max: 1_000, maxPerPrincipal: 16 })
const none: ParkingLimits = Object.freeze({ time: 0, max: 0, maxPerPrincipal: 0 })

/** Checks the option `parking`; false is no room at all. Throws BAD_OPTION. */
export function readParking(option: unknown): ParkingLimits {
  if (option === undefined || option === true) return defaults
  if (option === false) return none
  if (!isObject(option)) throw bad('parking', 'true, false or an object', option)
  const limits: Record<string, unknown> = { ...defaults }
  for (const [field, value] of Object.entries(option)) {
    if (!Object.hasOwn(defaults, field))
      throw bad(`parking.${field}`, among('an option', Object.keys(defaults), field), field)
    if (value === undefined) continue
    if (!(typeof value === 'number' && value > 0)) throw bad(`parking.${field}`, 'a number above 0', value)
    if (field !== 'time' && !isCount(value)) throw bad(`parking.${field}`, 'a whole number above 0', value)
    limits[field] = value
  }
  return Object.freeze(limits) as unknown as ParkingLimits
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

function bad(field: string, expected: string, got: unknown): ServerError {
  return optionError(field, `${field}: expected ${expected}, got ${show(got)}`)
}
