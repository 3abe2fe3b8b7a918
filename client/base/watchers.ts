import { bindTo, currentOwner, guard, outside } from '../../runtime/faults/containment.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import { HandlerOwner } from './handler-owner.js'
import type { Undo } from './state.js'

/**
 * Functions of others that hear of something, each in a microtask of its own and in the scope of whoever
 * registered it: one that throws or hangs stops no other, and nothing of ours.
 */
export class Watchers<Args extends unknown[]> {
  readonly #fns = new Set<(...args: Args) => unknown>()
  readonly #own: HandlerOwner

  /** `name` is told in the report of an error of a function that nobody owns. */
  constructor(name: string) {
    this.#own = new HandlerOwner(name)
  }

  /** In which tree the error of such a function is reported; until then nowhere. */
  reportIn(root: ProcessRef): void {
    this.#own.tree = processOf(root).tree.id
  }

  /** Calls `fn` from now on, until the returned function is called. */
  add(fn: (...args: Args) => void): Undo {
    const owner = currentOwner() ?? this.#own.token
    const bound = bindTo(owner, fn)
    const run = (...args: Args): unknown => (owner.fenced ? this.#fns.delete(run) : bound(...args))
    this.#fns.add(run)
    return () => {
      this.#fns.delete(run)
    }
  }

  tell(...args: Args): void {
    for (const fn of this.#fns)
      outside(() =>
        queueMicrotask(() => {
          if (this.#fns.has(fn)) guard(this.#own.token, () => fn(...args))
        }),
      )
  }

  /** Nothing more will be told; what was, still is. */
  end(): void {
    queueMicrotask(() => this.#fns.clear())
  }
}
