/** Proofs that are remembered, of all keys. */
const maxProofs = 100_000
/** Keys of which some proofs had to be forgotten early. */
const maxFloors = 10_000

interface Noted {
  readonly id: string
  /** The thumbprint of its key. */
  readonly key: string
  /** In ms since 1970: later it is refused for its age. */
  readonly until: number
}

/**
 * Which proofs one process has seen. When there is no room left, the oldest is forgotten early, and with it
 * all of the same key that are not newer: they are refused. So nothing can be used twice, and who sends many
 * pays for it. Only when that happens to more than 10,000 keys, proofs of the first can be used again.
 */
export class SeenProofs {
  /** By id, as they came. */
  readonly #noted = new Map<string, Noted>()
  /** Per key: the highest `until` that was forgotten early. */
  readonly #floors = new Map<string, number>()

  /** Notes one, and says whether it was seen before, or may have been. */
  note(one: Noted, now: number): boolean {
    const { id, key, until } = one
    this.#forget(now)
    const floor = this.#floors.get(key)
    if (this.#noted.has(id) || (floor !== undefined && until <= floor)) return true
    this.#noted.set(id, one)
    if (this.#noted.size > maxProofs) this.#forgetEarly()
    return false
  }

  #forget(now: number): void {
    for (const [id, { until }] of this.#noted) {
      if (until > now) break
      this.#noted.delete(id)
    }
    for (const [key, floor] of this.#floors) {
      if (floor > now) break
      this.#floors.delete(key)
    }
  }

  #forgetEarly(): void {
    const [oldest] = this.#noted.values()
    if (oldest === undefined) return
    const { id, key, until } = oldest
    this.#noted.delete(id)
    const floor = Math.max(until, this.#floors.get(key) ?? 0)
    this.#floors.delete(key)
    this.#floors.set(key, floor)
    const [first = key] = this.#floors.keys()
    if (this.#floors.size > maxFloors) this.#floors.delete(first)
  }
}
