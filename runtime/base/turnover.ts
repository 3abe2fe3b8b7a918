/**
 * A set for many short-lived items. A promoted Set of V8 keeps the tables it outgrew, and all younger ones,
 * until a major collection; this one is copied now and then. It has no table for a single item, nor while it is
 * empty: there are thousands of these, and an empty Set has 150 bytes. An iteration skips items deleted
 * meanwhile, and may miss added ones.
 */
export class TurnoverSet<T> {
  #one: T | typeof none = none
  /** Null until there are two, and from when it is empty again. */
  #items: Set<T> | null = null
  #deleted = 0

  /** How many there are. */
  get size(): number {
    if (this.#items !== null) return this.#items.size
    return this.#one === none ? 0 : 1
  }

  has(item: T): boolean {
    return this.#items === null ? this.#one === item : this.#items.has(item)
  }

  add(item: T): void {
    if (this.#items !== null) this.#items.add(item)
    else if (this.#one === none || this.#one === item) this.#one = item
    else {
      this.#items = new Set([this.#one, item])
      this.#one = none
    }
  }

  /** Answers whether it was there. */
  delete(item: T): boolean {
    if (!this.has(item)) return false
    this.#one = none
    if (this.#items === null) return true
    this.#items.delete(item)
    this.#deleted += 1
    const { size } = this.#items
    if (size > 0 && !isWornOut(this.#deleted, size)) return true
    this.#items = size === 0 ? null : new Set(this.#items)
    this.#deleted = 0
    return true
  }

  /** In the order in which they were added. */
  *[Symbol.iterator](): Generator<T, void> {
    if (this.#one !== none) yield this.#one
    else for (const item of this.#items ?? []) if (this.has(item)) yield item
  }
}

/** The same for a map. */
export class TurnoverMap<K, V> {
  #one: readonly [K, V] | null = null
  #entries: Map<K, V> | null = null
  #deleted = 0

  /** How many there are. */
  get size(): number {
    if (this.#entries !== null) return this.#entries.size
    return this.#one === null ? 0 : 1
  }

  has(key: K): boolean {
    if (this.#entries !== null) return this.#entries.has(key)
    return this.#one !== null && this.#one[0] === key
  }

  get(key: K): V | undefined {
    if (this.#entries !== null) return this.#entries.get(key)
    return this.#one !== null && this.#one[0] === key ? this.#one[1] : undefined
  }

  set(key: K, value: V): void {
    if (this.#entries !== null) this.#entries.set(key, value)
    else if (this.#one === null || this.#one[0] === key) this.#one = [key, value]
    else {
      this.#entries = new Map([this.#one, [key, value]])
      this.#one = null
    }
  }

  /** Answers whether there was one. */
  delete(key: K): boolean {
    if (!this.has(key)) return false
    this.#one = null
    if (this.#entries === null) return true
    this.#entries.delete(key)
    this.#deleted += 1
    const { size } = this.#entries
    if (size > 0 && !isWornOut(this.#deleted, size)) return true
    this.#entries = size === 0 ? null : new Map(this.#entries)
    this.#deleted = 0
    return true
  }

  /** In the order in which they were added. */
  *keys(): Generator<K, void> {
    for (const [key] of this.entries()) yield key
  }

  /** In the order in which their keys were added. */
  *values(): Generator<V, void> {
    for (const [, value] of this.entries()) yield value
  }

  /** The same, with their keys. */
  *entries(): Generator<[K, V], void> {
    if (this.#one !== null) yield [...this.#one]
    else for (const entry of this.#entries ?? []) if (this.has(entry[0])) yield entry
  }
}

const none = Symbol('none')
const least = 32

/** Copies so rarely that the amortized cost is below that of the deletions. */
function isWornOut(deleted: number, size: number): boolean {
  return deleted > least && deleted > size
}
