import type { ServerError } from '../base/errors.js'
import type { UndoneChanges } from '../context/session-state.js'

/**
 * The changes of a session's state that were undone, as its store has refused them: a list from which each run
 * reads on, and which nobody else keeps.
 */
export class Undone {
  #changes: UndoneChanges | undefined
  #problem: ServerError | undefined
  #next: Undone | undefined

  /** Adds changes, and answers what comes after them. */
  note(changes: UndoneChanges, problem: ServerError): Undone {
    this.#changes = changes
    this.#problem = problem
    this.#next = new Undone()
    return this.#next
  }

  /** Why one of these changes, by number, was undone since; undefined if none of them was. */
  problemOf(seen: ReadonlyMap<number, string>): ServerError | undefined {
    for (let at: Undone | undefined = this; at !== undefined; at = at.#next)
      if (at.#concerns(seen)) return at.#problem
    return undefined
  }

  #concerns(seen: ReadonlyMap<number, string>): boolean {
    const undone = this.#changes
    if (undone === undefined) return false
    for (const [change, key] of seen)
      if (key === undone.key && change > undone.since && change <= undone.at) return true
    return false
  }
}
