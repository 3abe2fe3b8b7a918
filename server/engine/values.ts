import { createHash } from 'node:crypto'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import type { KeptValue, SetOptions, Values } from '../../transports/contract/values.js'
import { Sealing, type Secrets } from '../base/sealing.js'
import type { Engine } from './engine.js'

/** The part of an engine that keeps values. */
export type ValueEngine = {
  [Method in 'value' | 'setValue']: (
    ...args: Parameters<Engine[Method]>
  ) => Awaited<ReturnType<Engine[Method]>> | ReturnType<Engine[Method]>
}

interface Entry {
  readonly text: string
  readonly until: number
}

/** Values at once: whoever makes them up costs no memory without end. */
const mostValues = 500_000
/** Characters of all of them. */
const mostCharacters = 256 * 1024 * 1024
/** Values that expired are looked for after so many were set. */
const sweepEvery = 1_000
/** Milliseconds between two looks where there is no room. */
const sweepInterval = 1_000

export class MemoryValues implements ValueEngine {
  readonly #now: () => number
  readonly #max: number
  readonly #entries = new Map<string, Entry>()
  #set = 0
  #characters = 0
  #sweptAt = Number.NEGATIVE_INFINITY

  /** `now` in ms. */
  constructor(now: () => number, max = mostValues) {
    this.#now = now
    this.#max = max
  }

  get size(): number {
    return this.#entries.size
  }

  value(key: string): string | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && entry.until > this.#now() ? entry.text : undefined
  }

  setValue(key: string, was: string | undefined, text: string | undefined, ttl: number): boolean {
    if (this.value(key) !== was) return false
    if (text !== undefined && !this.#hasRoomFor(key, text)) {
      this.#sweepIfDue()
      if (!this.#hasRoomFor(key, text)) throw noRoom()
    }
    this.#delete(key)
    if (text !== undefined) {
      this.#entries.set(key, { text, until: this.#now() + ttl })
      this.#characters += text.length
    }
    this.#set += 1
    if (this.#set % sweepEvery === 0) this.#sweep(this.#now())
    return true
  }

  #hasRoomFor(key: string, text: string): boolean {
    const isNew = !this.#entries.has(key)
    return (!isNew || this.#entries.size < this.#max) && this.#characters + text.length <= mostCharacters
  }

  /** Who fills it must not have it looked through again and again. */
  #sweepIfDue(): void {
    const now = this.#now()
    if (now - this.#sweptAt >= sweepInterval) this.#sweep(now)
  }

  #delete(key: string): void {
    this.#characters -= this.#entries.get(key)?.text.length ?? 0
    this.#entries.delete(key)
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    for (const [key, { until }] of this.#entries) if (until <= now) this.#delete(key)
  }
}

function noRoom(): TransportError {
  return new TransportError('CLUSTER_UNAVAILABLE', 'there is no room for another login', { retryable: true })
}

const purpose = 'caduceus values 1'

/** The values of an engine, which sees digests of keys, and sealed texts: who reads it learns nothing. */
export class SealedValues implements Values {
  readonly #engine: () => ValueEngine
  readonly #sealing: () => Sealing
  readonly #world: World

  /** Both are asked for each time: an engine may have to be connected again, and nodes agree on secrets. */
  constructor(engine: () => ValueEngine, secrets: () => Secrets, world: World) {
    this.#engine = engine
    this.#world = world
    let made: { readonly of: Secrets; readonly sealing: Sealing } | undefined
    this.#sealing = () => {
      const of = secrets()
      if (made === undefined || String(made.of) !== String(of))
        made = { of, sealing: new Sealing(of, { purpose, field: 'keys' }) }
      return made.sealing
    }
  }

  async get(key: string): Promise<KeptValue | undefined> {
    const place = placeOf(key)
    const tag = await this.#engine().value(place)
    const text = tag === undefined ? undefined : this.#sealing().open(tag, place)
    // one that was sealed with a key that is no more can still be replaced
    return tag === undefined ? undefined : { text: text?.toString() ?? '', tag }
  }

  async set(key: string, text: string | undefined, { ttl, was }: SetOptions): Promise<boolean> {
    const place = placeOf(key)
    const sealed =
      text === undefined ? undefined : this.#sealing().seal(Buffer.from(text), place, this.#world)
    return this.#engine().setValue(place, was?.tag, sealed, ttl)
  }
}

/** Who reads the engine learns no token from the keys. */
function placeOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}
