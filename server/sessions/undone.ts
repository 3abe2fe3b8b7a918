import type { ServerError } from '../base/errors.js'

/**
 * The changes of a session's state that were undone, as its store has refused them: a list from which each run
 * reads on, and which nobody else keeps.
 */
export class Undone {
  #change = 0
  #problem: ServerError | undefined
  #next: Undone | undefined

  /** Adds a change, and answers what comes after it. */
  note(change: number, problem: ServerError): Undone {
    this.#change = change
    this.#problem = problem
    this.#next = new Undone()
    return this.#next
  }

  /** Why one of these changes was undone since; undefined if none of them was. */
  problemOf(changes: ReadonlySet<number>): ServerError | undefined {
    for (let at: Undone | undefined = this; at !== undefined; at = at.#next)
      if (changes.has(at.#change)) return at.#problem
    return undefined
  }
}
