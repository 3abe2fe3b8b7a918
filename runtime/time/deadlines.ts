import type { Clock } from './clock.js'

/** A deadline, embedded in what waits, so that arming it allocates nothing. */
export abstract class Deadline {
  at = 0
  before: Deadline | null = null
  after: Deadline | null = null

  abstract expire(): void
}

/** One list per timeout value. Equal timeouts fall due in order, so only the heads are looked at. */
class Lane extends Deadline {
  readonly ms: number

  constructor(ms: number) {
    super()
    this.ms = ms
    this.before = this
    this.after = this
  }

  expire(): void {}
}

/** The rest of a wait is rounded up to this many ms on a clock with a grain, as each length makes a lane. */
const restGrain = 100

/** A tick that is more ms late than this follows a standstill: what came meanwhile has not been read. */
const standstill = 50
/** What came is read for as long as the standstill was, in ms at most. */
const longestHold = 1_000

/**
 * All call deadlines of a tree on one timer. A deadline never fires early, and late by the clock's grain at
 * most. With a grain the timer ticks while something waits; a call answered in time sets no timer. On an
 * exact clock it is set to the next deadline. It holds the event loop only while something waits.
 *
 * After a standstill of the event loop (a process is started, a long text is read) Node runs timers before it
 * reads. Deadlines are held then for as long again, 1 s at most (2 s with others that follow): a call fails
 * for an answer that did not come, not for one that nobody could read.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #grain: number
  readonly #lanes = new Map<number, Lane>()
  #timer: unknown = null
  #due = Number.POSITIVE_INFINITY
  /** While it is held: since when, and until when. */
  #heldSince: number | undefined
  #heldUntil: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#grain = clock.grain ?? 0
  }

  arm(deadline: Deadline, ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    let lane = this.#lanes.get(ms)
    if (lane === undefined) {
      lane = new Lane(ms)
      this.#lanes.set(ms, lane)
    }
    deadline.at = this.#clock.now() + ms
    const last = lane.before as Deadline
    deadline.before = last
    deadline.after = lane
    last.after = deadline
    lane.before = deadline
    this.#aim(deadline.at)
  }

  /** For the rest of a wait: a rare length. */
  armRest(deadline: Deadline, ms: number): void {
    this.arm(deadline, this.#grain === 0 ? ms : Math.ceil(ms / restGrain) * restGrain)
  }

  disarm(deadline: Deadline): void {
    const { before, after } = deadline
    if (before === null || after === null) return
    before.after = after
    after.before = before
    deadline.before = null
    deadline.after = null
    if (this.#grain > 0 || before !== after) return
    // The lane is empty now; the timer must not outlast the last lane.
    this.#lanes.delete((before as Lane).ms)
    if (this.#lanes.size === 0) this.#clear()
  }

  /** The tree has ended: clears the timer unless something waits. */
  end(): void {
    if (this.#isEmpty) this.#clear()
  }

  get #isEmpty(): boolean {
    return [...this.#lanes.values()].every((lane) => lane.after === lane)
  }

  #aim(at: number): void {
    if (this.#grain > 0) {
      if (this.#timer === null) this.#tickLater()
      return
    }
    if (at >= this.#due) return
    this.#clear()
    this.#due = at
    this.#timer = this.#clock.setTimeout(() => this.#tick(), Math.max(0, at - this.#clock.now()))
  }

  #tickLater(): void {
    this.#due = this.#clock.now() + this.#grain
    this.#timer = this.#clock.setTimeout(() => this.#tick(), this.#grain)
  }

  #clear(): void {
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer)
    this.#timer = null
    this.#due = Number.POSITIVE_INFINITY
    this.#heldUntil = this.#heldSince = undefined
  }

  /** Another standstill meanwhile prolongs it, to a limit: a loop that is always busy has deadlines, too. */
  #isHeld(now: number): boolean {
    const late = now - this.#due
    if (this.#grain > 0 && late > standstill) {
      this.#heldSince ??= now
      const until = Math.min(now + Math.min(late, longestHold), this.#heldSince + 2 * longestHold)
      this.#heldUntil = Math.max(this.#heldUntil ?? 0, until)
    }
    if (this.#heldUntil !== undefined && now < this.#heldUntil) return true
    this.#heldUntil = this.#heldSince = undefined
    return false
  }

  #tick(): void {
    const now = this.#clock.now()
    if (this.#isHeld(now) && !this.#isEmpty) return this.#tickLater()
    this.#timer = null
    this.#due = Number.POSITIVE_INFINITY
    let next = Number.POSITIVE_INFINITY
    for (const [ms, lane] of this.#lanes) {
      let first = lane.after as Deadline
      while (first !== lane && first.at <= now) {
        this.disarm(first)
        first.expire()
        first = lane.after as Deadline
      }
      if (first !== lane) next = Math.min(next, first.at)
      else if (this.#grain > 0 && this.#lanes.size > 16) this.#lanes.delete(ms)
    }
    if (next !== Number.POSITIVE_INFINITY) this.#aim(next)
  }
}
