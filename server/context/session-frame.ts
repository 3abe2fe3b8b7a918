import type { Changes } from './changes.js'

const nothing: Readonly<Record<string, unknown>> = Object.freeze({})

/**
 * What an author assigns to a session (`ctx.assign`): live values such as connections, never copied or
 * stored. It belongs to the session's actor and ends with it; a session that is brought back begins with
 * none, and `init` makes them anew.
 */
export class SessionFrame {
  readonly changes: Changes
  #assigns = nothing

  constructor(changes: Changes) {
    this.changes = changes
  }

  /** All that is assigned by now. */
  get assigns(): Readonly<Record<string, unknown>> {
    return this.#assigns
  }

  /** Adds values; those of the same names are replaced. */
  assign(values: object): void {
    this.#assigns = Object.freeze({ ...this.#assigns, ...values })
  }
}

/**
 * What is assigned to a session, and what is said of one request of it, which counts more: who calls is among
 * it.
 */
export function mergedAssigns(
  assigned: Readonly<Record<string, unknown>> = nothing,
  own: Readonly<Record<string, unknown>> = nothing,
): Readonly<Record<string, unknown>> {
  if (assigned === nothing) return own
  return own === nothing ? assigned : Object.freeze({ ...assigned, ...own })
}
