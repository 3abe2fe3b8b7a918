import { outside } from '../faults/containment.js'
import type { World } from '../time/world.js'

/** Milliseconds of work in a turn of the event loop; the rest waits for the next one. */
const slice = 20
/** Milliseconds that a piece takes at least to be counted: of most nobody need know. */
const least = 1

/** Pieces of work that may take long: few in a turn of the event loop, and callers one after the other. */
export class Rota {
  readonly #world: Pick<World, 'now' | 'setImmediate'>
  /** What waits, by caller: the next one is first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #used = 0
  #isArmed = false

  constructor(world: Pick<World, 'now' | 'setImmediate'>) {
    this.#world = world
  }

  /** Whether a piece may be done at once, with `run`. */
  get isFree(): boolean {
    return this.#used <= slice && this.#waiting.size === 0
  }

  /** Does a piece at once, and counts its time. */
  run<Result>(work: () => Result): Result {
    const began = this.#world.now()
    try {
      return work()
    } finally {
      const ms = this.#world.now() - began
      if (ms >= least) this.#count(ms)
    }
  }

  /** Does a piece, which must not throw, when it is the turn of its caller. */
  wait(caller: string, work: () => void): void {
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, [work])
    else own.push(work)
    this.#arm()
  }

  /** Resolves when it is the turn of a piece of this caller. */
  next(caller: string): Promise<void> {
    return new Promise((resolve) => this.wait(caller, resolve))
  }

  /** Does all that waits. */
  flush(): void {
    const all = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    for (const work of all) work()
  }

  #count(ms: number): void {
    this.#used += ms
    this.#arm()
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    outside(() => this.#world.setImmediate(() => void this.#turn()))
  }

  async #turn(): Promise<void> {
    this.#isArmed = false
    this.#used = 0
    while (this.#used <= slice) {
      const work = this.#shift()
      if (work === undefined) return
      const began = this.#world.now()
      work()
      // whoever waits for a promise does its piece now
      await undefined
      this.#used += this.#world.now() - began
    }
    this.#arm()
  }

  #shift(): (() => void) | undefined {
    for (const [caller, own] of this.#waiting) {
      this.#waiting.delete(caller)
      const next = own.shift()
      // behind the others
      if (own.length > 0) this.#waiting.set(caller, own)
      return next
    }
    return undefined
  }
}
