/** Something that is due at a time of the simulation. */
export interface Due {
  /** Simulated ms. */
  readonly at: number
  /** Things due at the same time are taken in the order in which they were added. */
  readonly order: number
  cancelled: boolean
}

/** A binary heap: the earliest first. */
export class Agenda<Item extends Due> {
  readonly #heap: Item[] = []

  get size(): number {
    return this.#heap.length
  }

  first(): Item | undefined {
    return this.#heap[0]
  }

  add(item: Item): void {
    const heap = this.#heap
    let at = heap.push(item) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(item, heap[above] as Item)) break
      heap[at] = heap[above] as Item
      at = above
    }
    heap[at] = item
  }

  clear(): void {
    this.#heap.length = 0
  }

  take(): Item | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Item, heap[below] as Item)) below += 1
      if (!isBefore(heap[below] as Item, last)) break
      heap[at] = heap[below] as Item
      at = below
    }
    heap[at] = last
    return first
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
