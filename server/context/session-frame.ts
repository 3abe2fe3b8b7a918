const nothing: Readonly<Record<string, unknown>> = Object.freeze({})

/** Live values of a session (`ctx.assign`), never stored; `init` makes them again for a restored session. */
export class SessionFrame {
  #assigns = nothing

  get assigns(): Readonly<Record<string, unknown>> {
    return this.#assigns
  }

  get isEmpty(): boolean {
    return this.#assigns === nothing
  }

  assign(values: object): void {
    this.#assigns = Object.freeze({ ...this.#assigns, ...values })
  }
}

/**
 * The assigns of a session and of one of its requests; the request's count more, since they say who calls.
 */
export function mergedAssigns(assigned = nothing, own = nothing): Readonly<Record<string, unknown>> {
  if (assigned === nothing) return own
  return own === nothing ? assigned : Object.freeze({ ...assigned, ...own })
}
