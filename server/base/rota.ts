import { outside } from '../../runtime/faults/containment.js'
import type { World } from '../../runtime/time/world.js'

/** Work that takes its time: one piece in a turn of the event loop, and callers one after the other. */
export class Rota {
  readonly #world: Pick<World, 'setImmediate'>
  /** What waits, by caller: the next one is first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #isRunning = false

  constructor(world: Pick<World, 'setImmediate'>) {
    this.#world = world
  }

  /** Resolves when it is the turn of a piece of work of this caller. */
  next(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(caller)
      if (own === undefined) this.#waiting.set(caller, [resolve])
      else own.push(resolve)
      if (this.#isRunning) return
      this.#isRunning = true
      this.#arm()
    })
  }

  #arm(): void {
    outside(() => this.#world.setImmediate(() => this.#take()))
  }

  #take(): void {
    for (const [caller, own] of this.#waiting) {
      this.#waiting.delete(caller)
      const begin = own.shift()
      if (own.length > 0) this.#waiting.set(caller, own)
      begin?.()
      break
    }
    this.#isRunning = this.#waiting.size > 0
    if (this.#isRunning) this.#arm()
  }
}
