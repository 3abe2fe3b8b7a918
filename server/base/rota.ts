import { outside } from '../../runtime/faults/containment.js'
import type { World } from '../../runtime/time/world.js'

/** Work that takes its time: one piece in a turn of the event loop, and callers one after the other. */
export class Rota {
  readonly #world: Pick<World, 'setImmediate'>
  /** What waits, by caller: the next one is first. */
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(world: Pick<World, 'setImmediate'>) {
    this.#world = world
  }

  /** Resolves when it is the turn of a piece of work of this caller. */
  next(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(caller)
      if (own !== undefined) return void own.push(resolve)
      this.#waiting.set(caller, [resolve])
      if (this.#waiting.size === 1) this.#arm()
    })
  }

  #arm(): void {
    outside(() => this.#world.setImmediate(() => this.#take()))
  }

  #take(): void {
    for (const [caller, own] of this.#waiting) {
      this.#waiting.delete(caller)
      own.shift()?.()
      // behind the others
      if (own.length > 0) this.#waiting.set(caller, own)
      break
    }
    if (this.#waiting.size > 0) this.#arm()
  }
}
