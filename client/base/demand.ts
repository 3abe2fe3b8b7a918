import type { Undo } from './state.js'

/** Counts those who wait for a client to be ready. */
export class Demand {
  readonly #fns = new Set<() => void>()
  #waiting = 0

  get any(): boolean {
    return this.#waiting > 0
  }

  /** Adds one who waits, until the returned function is called. */
  begin(): Undo {
    this.#waiting += 1
    if (this.#waiting === 1) for (const fn of [...this.#fns]) fn()
    let over = false
    return () => {
      if (!over) this.#waiting -= 1
      over = true
    }
  }

  /** Calls `fn` whenever the first begins to wait. */
  onBegin(fn: () => void): Undo {
    this.#fns.add(fn)
    return () => {
      this.#fns.delete(fn)
    }
  }
}
