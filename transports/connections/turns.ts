import { outside } from '../../runtime/faults/containment.js'

/**
 * Messages that one connection may have taken before all others get their turn: some milliseconds of the
 * worst of them.
 */
const perTurn = 100

/**
 * What one connection has of the turns of the event loop: without this, whoever sends a flood in small frames
 * has all of them.
 */
export class Turns {
  readonly #again: () => void
  #left = perTurn
  #next: NodeJS.Immediate | null = null

  /** `again` is called in the turn after one that was used up. */
  constructor(again: () => void) {
    this.#again = again
  }

  /** Whether one more message may be taken now. */
  take(): boolean {
    if (this.#next !== null) return false
    this.#left -= 1
    if (this.#left >= 0) return true
    this.#next = outside(() =>
      setImmediate(() => {
        this.#next = null
        this.#left = perTurn
        this.#again()
      }),
    )
    return false
  }

  /** `again` is not called any more. */
  stop(): void {
    if (this.#next !== null) clearImmediate(this.#next)
  }
}
