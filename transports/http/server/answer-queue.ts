import { guard, outside, type OwnerToken } from '../../../runtime/faults/containment.js'

interface Waiting {
  readonly token: OwnerToken
  readonly write: () => void
}

/**
 * Answers of one turn of the event loop, written together at its end. A client that is woken by each of them
 * costs the server more than all of its own work: with one wake-up for all, the next requests come together,
 * too.
 */
export class AnswerQueue {
  #waiting: Waiting[] = []

  /**
   * Runs `write` at the end of this turn, in the order of the calls; the owner of `token` answers for its
   * errors.
   */
  add(token: OwnerToken, write: () => void): void {
    if (this.#waiting.push({ token, write }) === 1) outside(() => setImmediate(() => this.flush()))
  }

  /** Writes at once what waits. */
  flush(): void {
    const all = this.#waiting
    this.#waiting = []
    for (const { token, write } of all) guard(token, write)
  }
}
