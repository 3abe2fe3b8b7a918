import type { Changes } from './changes.js'

const nothing: Readonly<Record<string, unknown>> = Object.freeze({})

/**
 * What an author assigns to a session (`ctx.assign`): live values such as connections, never copied or
 * stored. They belong to the session's actor and end with it; `init` makes them again for a restored session.
 */
export class SessionFrame {
  readonly changes: Changes
  #assigns = nothing

  constructor(changes: Changes) {
    this.changes = changes
  }

  get assigns(): Readonly<Record<string, unknown>> {
    return this.#assigns
  }

  /** Adds values, and replaces those of the same names. */
  assign(values: object): void {
    this.#assigns = Object.freeze({ ...this.#assigns, ...values })
  }
}

/** The assigns of a session and of one of its requests; the request's count more, since they say who calls. */
export function mergedAssigns(assigned = nothing, own = nothing): Readonly<Record<string, unknown>> {
  if (assigned === nothing) return own
  return own === nothing ? assigned : Object.freeze({ ...assigned, ...own })
}
