const { setImmediate: realImmediate } = globalThis

/** A turn of the real event loop: all microtasks have run to their end. */
export function nodeTurn(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve))
}

/** Work on other threads, one after the other, so that its results come in one order. */
export class Native {
  #pending = 0
  #last: Promise<unknown> = Promise.resolve()

  wait<T>(work: () => Promise<T>): Promise<T> {
    this.#pending += 1
    const result = this.#last.then(work)
    const settle = (): void => {
      this.#pending -= 1
    }
    this.#last = result.then(settle, settle)
    return result
  }

  /** Resolves when none is left, and what waited for it has gone on. */
  async turn(): Promise<void> {
    await nodeTurn()
    while (this.#pending > 0) {
      await this.#last
      await nodeTurn()
    }
  }
}
