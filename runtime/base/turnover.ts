/**
 * A set for many short-lived items. A promoted Set of V8 keeps the tables it outgrew, and all younger ones,
 * until a major collection; this one is copied now and then. An iteration skips items deleted meanwhile, and
 * may miss added ones.
 */
export class TurnoverSet<T> {
  #items = new Set<T>()
  #deleted = 0

  /** How many there are. */
  get size(): number {
    return this.#items.size
  }

  has(item: T): boolean {
    return this.#items.has(item)
  }

  add(item: T): void {
    this.#items.add(item)
  }

  /** Answers whether it was there. */
  delete(item: T): boolean {
    if (!this.#items.delete(item)) return false
    this.#deleted += 1
    if (!isWornOut(this.#deleted, this.#items.size)) return true
    this.#items = new Set(this.#items)
    this.#deleted = 0
    return true
  }

  /** In the order in which they were added. */
  *[Symbol.iterator](): Generator<T, void> {
    for (const item of this.#items) if (this.#items.has(item)) yield item
  }
}

/** The same for a map. */
export class TurnoverMap<K, V> {
  #entries = new Map<K, V>()
  #deleted = 0

  /** How many there are. */
  get size(): number {
    return this.#entries.size
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value)
  }

  /** Answers whether there was one. */
  delete(key: K): boolean {
    if (!this.#entries.delete(key)) return false
    this.#deleted += 1
    if (!isWornOut(this.#deleted, this.#entries.size)) return true
    this.#entries = new Map(this.#entries)
    this.#deleted = 0
    return true
  }

  /** In the order in which their keys were added. */
  *values(): Generator<V, void> {
    for (const [, value] of this.entries()) yield value
  }

  /** The same, with their keys. */
  *entries(): Generator<[K, V], void> {
    for (const entry of this.#entries) if (this.#entries.has(entry[0])) yield entry
  }
}

const least = 32

/** Copies so rarely that the amortized cost is below that of the deletions. */
function isWornOut(deleted: number, size: number): boolean {
  return deleted > least && deleted > size
}
