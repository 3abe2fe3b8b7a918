import { outside } from '../faults/containment.js'
import type { World } from '../time/world.js'

/** Milliseconds of work in a turn of the event loop; the rest waits. A piece that takes more is a long one. */
const slice = 20
/** Milliseconds that a piece takes at least to be counted: of most nobody need know. */
const least = 1
/** After a long piece its caller leaves the time to others: so many times as long, and ms at most. */
const restFactor = 3
const longestRest = 5_000

/** What a rota takes of a world. */
export type RotaWorld = Pick<World, 'now' | 'setImmediate' | 'setTimeout' | 'clearTimeout'>

/** Pieces of work that may take long: few in a turn of the event loop, and callers one after the other. */
export class Rota {
  readonly #world: RotaWorld
  readonly #anybody: string | undefined
  /** What waits, by caller: the next one is first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  /** Callers after a long piece, and until when the time is others'. */
  readonly #resting = new Map<string, number>()
  #used = 0
  #isArmed = false
  #timer: unknown

  /** `anybody` is the name of callers that cannot be told apart: none of them rests for another. */
  constructor(world: RotaWorld, anybody?: string) {
    this.#world = world
    this.#anybody = anybody
  }

  /** Whether a piece may be done at once, with `run`. */
  get isFree(): boolean {
    return this.#used <= slice && this.#waiting.size === 0 && this.#resting.size === 0
  }

  /** Does a piece at once, and counts its time. `caller` is asked for whose it was, if it was a long one. */
  run<Result>(caller: () => string, work: () => Result): Result {
    const began = this.#world.now()
    try {
      return work()
    } finally {
      const ms = this.#world.now() - began
      if (ms > slice) this.#rest(caller(), ms)
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
    this.#world.clearTimeout(this.#timer)
    for (const work of all) work()
  }

  #count(ms: number): void {
    this.#used += ms
    this.#arm()
  }

  #rest(caller: string, ms: number): void {
    if (caller === this.#anybody) return
    this.#resting.set(caller, this.#world.now() + Math.min(restFactor * ms, longestRest))
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    outside(() => this.#world.setImmediate(() => void this.#turn()))
  }

  async #turn(): Promise<void> {
    this.#isArmed = false
    this.#used = 0
    this.#wake()
    while (this.#used <= slice) {
      const next = this.#shift()
      if (next === undefined) return this.#sleep()
      const began = this.#world.now()
      next.work()
      // whoever waits for a promise does its piece now
      await undefined
      const ms = this.#world.now() - began
      if (ms > slice) this.#rest(next.caller, ms)
      this.#used += ms
    }
    this.#arm()
  }

  #wake(): void {
    const now = this.#world.now()
    for (const [caller, until] of this.#resting) if (until <= now) this.#resting.delete(caller)
  }

  /** Until somebody has rested, or there is more to do. */
  #sleep(): void {
    this.#world.clearTimeout(this.#timer)
    // who comes next looks who has rested
    if (this.#waiting.size === 0) return
    const ms = Math.min(...this.#resting.values()) - this.#world.now()
    this.#timer = outside(() => this.#world.setTimeout(() => this.#arm(), Math.max(1, ms)))
  }

  #shift(): { readonly caller: string; readonly work: () => void } | undefined {
    for (const [caller, own] of this.#waiting) {
      if (this.#resting.has(caller)) continue
      this.#waiting.delete(caller)
      const work = own.shift() as () => void
      // behind the others
      if (own.length > 0) this.#waiting.set(caller, own)
      return { caller, work }
    }
    return undefined
  }
}
