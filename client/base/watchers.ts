import {
  currentOwner,
  guard,
  type Owner,
  OwnerToken,
  type StrayKind,
} from '../../runtime/faults/containment.js'
import { emit } from '../../runtime/faults/events.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import type { Undo } from './state.js'

/**
 * Owns the handlers that code without an owner has registered: reports their errors. Has no way back to the
 * client, which the async contexts of handlers may outlive.
 */
export class HandlerOwner implements Owner {
  readonly token: OwnerToken
  /** The tree of the client. */
  #tree = 0

  constructor(clientName: string) {
    this.token = new OwnerToken(`${clientName}: handler`, this, null)
  }

  get tree(): number {
    return this.#tree
  }

  /** Errors are reported in the tree of this process; until then in none. */
  reportIn(process: ProcessRef): void {
    this.#tree = processOf(process).tree.id
  }

  /** Reports an error that stopped nothing. */
  fail(error: unknown, kind: StrayKind): void {
    const { tree, token } = this
    emit('stray', () => ({ tree, error, kind, owner: token.name, outcome: 'reported' }))
  }
}

interface Watcher<Args extends unknown[]> {
  readonly fn: (...args: Args) => unknown
  readonly owner: OwnerToken
}

/**
 * Handlers of users. Each runs in a microtask of its own and in the scope of whoever registered it: one that
 * throws or hangs stops no other, and no actor.
 */
export class Watchers<Args extends unknown[]> {
  readonly #all = new Set<Watcher<Args>>()
  readonly #own: HandlerOwner

  constructor(own: HandlerOwner) {
    this.#own = own
  }

  /** Errors of handlers without an owner are reported in the tree of this process. */
  reportIn(process: ProcessRef): void {
    this.#own.reportIn(process)
  }

  get size(): number {
    return this.#all.size
  }

  /** Calls `fn` from now on, until the returned function is called. */
  add(fn: (...args: Args) => unknown): Undo {
    const watcher = { fn, owner: currentOwner() ?? this.#own.token }
    this.#all.add(watcher)
    return () => {
      this.#all.delete(watcher)
    }
  }

  tell(...args: Args): void {
    for (const watcher of this.#all) {
      const { owner, fn } = watcher
      // whoever registered it has died, and the handler with it
      if (owner.fenced) this.#all.delete(watcher)
      else
        queueMicrotask(() => {
          if (this.#all.has(watcher)) guard(owner, () => fn(...args))
        })
    }
  }

  /** Nothing more will be told; what was told is still delivered. */
  end(): void {
    queueMicrotask(() => this.#all.clear())
  }
}
