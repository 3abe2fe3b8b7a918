import {
  currentOwner,
  guard,
  type Owner,
  OwnerToken,
  type StrayKind,
} from '../../runtime/faults/containment.js'
import { emit } from '../../runtime/faults/events.js'
import type { World } from '../../runtime/time/world.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import type { Undo } from './state.js'

/** Reports errors of handlers without owner. No way to the client: their async contexts may outlive it. */
export class HandlerOwner implements Owner {
  readonly token: OwnerToken
  readonly world: World
  #tree = 0

  constructor(clientName: string, world: World) {
    this.world = world
    this.token = new OwnerToken(`${clientName}: handler`, this, null)
  }

  get tree(): number {
    return this.#tree
  }

  /** Reports errors in the tree of `process`; before that, in none. */
  reportIn(process: ProcessRef): void {
    this.#tree = processOf(process).tree.id
  }

  fail(error: unknown, kind: StrayKind): void {
    const { tree, token } = this
    emit('stray', () => ({ tree, error, kind, owner: token.name, outcome: 'reported' }))
  }
}

interface Watcher<Args extends unknown[]> {
  readonly fn: (...args: Args) => unknown
  readonly owner: OwnerToken
}

/** Runs each handler in a microtask, in its owner's scope: a throw or hang stops no other, and no actor. */
export class Watchers<Args extends unknown[]> {
  readonly #all = new Set<Watcher<Args>>()
  readonly #own: HandlerOwner

  constructor(own: HandlerOwner) {
    this.#own = own
  }

  /** For errors of handlers without an owner. */
  reportIn(process: ProcessRef): void {
    this.#own.reportIn(process)
  }

  get size(): number {
    return this.#all.size
  }

  add(fn: (...args: Args) => unknown): Undo {
    // an owner that is restarted adds its own again, perhaps often before anything is told
    for (const former of this.#all) if (former.owner.fenced) this.#all.delete(former)
    const watcher = { fn, owner: currentOwner() ?? this.#own.token }
    this.#all.add(watcher)
    return () => {
      this.#all.delete(watcher)
    }
  }

  tell(...args: Args): void {
    for (const watcher of this.#all) {
      const { owner, fn } = watcher
      // its owner has died, and the handler with it
      if (owner.fenced) this.#all.delete(watcher)
      else
        this.#own.world.queueMicrotask(() => {
          if (this.#all.has(watcher)) guard(owner, () => fn(...args))
        })
    }
  }

  /** What was told is still delivered. */
  end(): void {
    this.#own.world.queueMicrotask(() => this.#all.clear())
  }
}
