/** Resources whose updates are remembered. */
const most = 10_000

/** Which resources were updated last: whoever was asleep hears of them by the number of the last that it knows. */
export class ResourceUpdates {
  /** The number of the last update of each, in this order. */
  readonly #numbers = new Map<string, number>()
  /** The number of the last update that may have been any resource's. */
  #any = 0
  #last = 0

  /** The number of the last update. */
  get last(): number {
    return this.#last
  }

  note(uri: string): void {
    this.#last += 1
    this.#numbers.delete(uri)
    this.#numbers.set(uri, this.#last)
    if (this.#numbers.size <= most) return
    for (const [oldest, number] of this.#numbers) {
      this.#numbers.delete(oldest)
      this.#any = number
      return
    }
  }

  noteAll(): void {
    this.#last += 1
    this.forget()
  }

  /** Whoever has not heard of the last one is told of all of its resources. */
  forget(): void {
    this.#any = this.#last
    this.#numbers.clear()
  }

  /** Whether a resource may have been updated after the update with this number. */
  isAfter(number: number, uri: string): boolean {
    return (this.#numbers.get(uri) ?? this.#any) > number
  }
}
