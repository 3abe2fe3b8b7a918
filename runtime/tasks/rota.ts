import { outside } from '../faults/containment.js'
import { LoopShare } from '../time/loop-share.js'
import { isPromise } from '../base/promise.js'
import type { World } from '../time/world.js'

/** Milliseconds of work in a turn of the event loop; the rest waits. */
const usualSlice = 20
/** The same where a piece may be a handler's: whoever comes waits for a turn or two before anybody sees it. */
export const handlersSlice = 2
/** A piece that takes more milliseconds is a long one. */
const long = 20
/** Pieces are counted by milliseconds: a turn is asked for no more often. */
const least = 1
/** After a long piece its caller leaves the time to others: so many times as long, and ms at most. */
const restFactor = 3
const longestRest = 5_000
/** Who has had no company for so many ms has nobody to leave the time to. */
const company = 2_000
/** The last turns that say how long one is waited for. */
const smoothing = 8
/** The processor time is read once in so many ms at most; where nothing took long lately, more rarely. */
const cpuEvery = 10
const cpuEveryAtRest = 100

export type RotaWorld = Pick<World, 'now' | 'cpu' | 'setImmediate' | 'setTimeout' | 'clearTimeout'>

/** A piece that is done elsewhere answers a promise of it. */
type Work = () => unknown

/** The pieces of a caller that wait, the next one first, and since when it waits for its turn. */
interface CallerLine {
  readonly pieces: Piece[]
  since: number
}

interface Piece {
  readonly work: Work
  readonly at: number
}

/** A moment, by the clock and by the processor. */
interface Moment {
  readonly at: number
  readonly cpu: number
}

/**
 * Pieces of work that may take long: few in a turn of the event loop, and callers one after the other. Who has
 * done a long one rests while there are others. Time in which the machine did something else is nobody's.
 */
export class Rota {
  readonly #world: RotaWorld
  readonly #anybody: string | undefined
  readonly #slice: number
  readonly #rests: boolean
  /** What waits, by caller: who is next is first. */
  readonly #waiting = new Map<string, CallerLine>()
  /** How long callers have waited for their turn lately. */
  #round = 0
  /** Callers after a long piece, and until when the time is others'. */
  readonly #resting = new Map<string, number>()
  #used = 0
  /** Milliseconds of short pieces, in this turn or those before. */
  #uncounted = 0
  /** When the processor time was last read. */
  #read: Moment = { at: Number.NEGATIVE_INFINITY, cpu: 0 }
  /** The last long piece, who did a piece since, and when somebody else had done the one before. */
  #longAt = Number.NEGATIVE_INFINITY
  #last: string | undefined
  #changedAt = Number.NEGATIVE_INFINITY
  readonly #share = new LoopShare()
  #isArmed = false
  #timer: unknown

  /**
   * `anybody` is the name of callers that cannot be told apart: none of them rests for another. `slice`:
   * milliseconds of work in a turn. `rests`: whether callers rest at all.
   */
  constructor(world: RotaWorld, anybody?: string, slice = usualSlice, rests = true) {
    this.#world = world
    this.#anybody = anybody
    this.#slice = slice
    this.#rests = rests
  }

  /** Whether a piece may be done at once, with `run`. */
  get isFree(): boolean {
    return this.#used <= this.#slice && this.#waiting.size === 0 && this.#resting.size === 0
  }

  /** Does a piece at once, and counts its time. `caller` is asked for whose it was, if it was a long one. */
  run<Result>(caller: () => string, work: () => Result): Result {
    const began = this.#begin()
    if (began - this.#longAt < company) this.#see(caller())
    try {
      return work()
    } finally {
      const ms = this.#world.now() - began
      if (ms > long) this.#rest(caller(), ms)
      this.#uncounted += ms
      if (this.#uncounted >= least) this.#count()
    }
  }

  /**
   * Does a piece, which must not throw, when it is the turn of its caller. The next one is done when the promise
   * of a piece that is done elsewhere has settled, or in the next turn: it holds up nobody.
   */
  wait(caller: string, work: Work): void {
    const at = this.#world.now()
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, { pieces: [{ work, at }], since: at })
    else own.pieces.push({ work, at })
    this.#arm()
  }

  /**
   * Whether a piece of this caller would wait longer than `ms`, as things went lately. One stop of the event loop
   * is no queue: its first piece has waited half of that.
   */
  wouldWait(caller: string, ms: number): boolean {
    const { pieces } = this.#waiting.get(caller) ?? {}
    const first = pieces?.[0]
    if (pieces === undefined || first === undefined) return this.#round > ms
    return this.#round * (pieces.length + 1) > ms && this.#world.now() - first.at > ms / 2
  }

  /** Resolves when it is the turn of a piece of this caller. */
  next(caller: string): Promise<void> {
    return new Promise((resolve) => this.wait(caller, resolve))
  }

  /** Does all that waits. */
  flush(): void {
    const all = [...this.#waiting.values()].flatMap(({ pieces }) => pieces)
    this.#waiting.clear()
    this.#round = 0
    this.#world.clearTimeout(this.#timer)
    for (const { work } of all) work()
  }

  #count(): void {
    this.#used += this.#uncounted
    this.#uncounted = 0
    this.#arm()
  }

  /** The moment at which a piece begins. */
  #begin(): number {
    const at = this.#world.now()
    const every = at - this.#longAt < company ? cpuEvery : cpuEveryAtRest
    if (at - this.#read.at > every) this.#read = { at, cpu: this.#world.cpu() }
    return at
  }

  #see(caller: string): void {
    if (caller === this.#last) return
    this.#last = caller
    this.#changedAt = this.#world.now()
  }

  #rest(caller: string, ms: number): void {
    if (caller === this.#anybody || !this.#rests) return
    const now = this.#world.now()
    this.#longAt = now
    // a machine that is busy otherwise makes short pieces long
    const own = Math.min(ms, this.#world.cpu() - this.#read.cpu)
    if (own <= long) return
    this.#see(caller)
    if (now - this.#changedAt < company)
      this.#resting.set(caller, now + Math.min(restFactor * own, longestRest))
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    outside(() => this.#world.setImmediate(() => void this.#turn()))
  }

  async #turn(): Promise<void> {
    this.#isArmed = false
    if (this.#waiting.size > 0 && !this.#share.mayWork()) return this.#arm()
    this.#used = 0
    this.#wake()
    while (this.#used <= this.#slice) {
      const next = this.#shift()
      if (next === undefined) return this.#sleep()
      const began = this.#begin()
      this.#see(next.caller)
      const usedBefore = this.#used
      const doing = next.work()
      // whoever waits for a promise does its piece now
      if (!isPromise(doing)) await undefined
      else if (!(await this.#isDoneInTurn(doing))) break
      const ms = this.#world.now() - began
      if (ms > long) this.#rest(next.caller, ms)
      // a piece that is done elsewhere may have counted itself
      this.#used = usedBefore + ms
    }
    this.#arm()
  }

  #isDoneInTurn(doing: PromiseLike<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (): void => resolve(true)
      doing.then(done, done)
      this.#world.setImmediate(() => resolve(false))
    })
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

  #shift(): { readonly caller: string; readonly work: Work } | undefined {
    for (const [caller, own] of this.#waiting) {
      if (this.#resting.has(caller)) continue
      this.#waiting.delete(caller)
      const { work } = own.pieces.shift() as Piece
      const now = this.#world.now()
      this.#round += (now - own.since - this.#round) / smoothing
      own.since = now
      // behind the others
      if (own.pieces.length > 0) this.#waiting.set(caller, own)
      if (this.#waiting.size === 0) this.#round = 0
      return { caller, work }
    }
    return undefined
  }
}
