import type { World } from '../../runtime/time/world.js'

/** Milliseconds of work in a turn of the event loop; the rest waits. */
const slice = 10

/** Long work in steps: whoever else is served by this program has the event loop in between. */
export class Pace {
  readonly #world: Pick<World, 'now' | 'setImmediate'>
  #began: number

  constructor(world: Pick<World, 'now' | 'setImmediate'>) {
    this.#world = world
    this.#began = world.now()
  }

  /** Whether it is time to leave the event loop to others. */
  isDue(): boolean {
    return this.#world.now() - this.#began >= slice
  }

  /** Resolves when the event loop has turned. */
  async rest(): Promise<void> {
    await new Promise<void>((resolve) => void this.#world.setImmediate(resolve))
    this.#began = this.#world.now()
  }
}

/** Leaves a turn of the event loop to each of those who ask, one after the other. */
export function turnsOf(world: Pick<World, 'setImmediate'>): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => new Promise<void>((resolve) => void world.setImmediate(resolve)))
    return last
  }
}
