import type { Clock } from './clock.js'

/** Something that waits until its deadline; embedded in what waits, so that arming one allocates nothing. */
export abstract class Deadline {
  at = 0
  before: Deadline | null = null
  after: Deadline | null = null

  abstract expire(): void
}

/** One list per timeout value: equal timeouts fall due in the order they were armed, so only the heads are looked at. */
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

const grain = 16

/**
 * All call deadlines of a tree on one coarse timer: a deadline never fires early, and at most a grain (16 ms) late.
 * The timer runs, and holds the event loop, only while something waits.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #lanes = new Map<number, Lane>()
  #timer: unknown = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  arm(deadline: Deadline, ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    if (this.#timer === null) this.#start()
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
  }

  disarm(deadline: Deadline): void {
    const { before, after } = deadline
    if (before === null || after === null) return
    before.after = after
    after.before = before
    deadline.before = null
    deadline.after = null
  }

  /** The tree has ended: the timer is not waited for, unless something is. */
  end(): void {
    if (this.#timer === null || [...this.#lanes.values()].some((lane) => lane.after !== lane)) return
    this.#clock.clearTimeout(this.#timer)
    this.#timer = null
  }

  #start(): void {
    this.#timer = this.#clock.setTimeout(() => this.#tick(), grain)
  }

  #tick(): void {
    const now = this.#clock.now()
    this.#timer = null
    let waiting = false
    for (const [ms, lane] of this.#lanes) {
      let first = lane.after as Deadline
      while (first !== lane && first.at <= now) {
        this.disarm(first)
        first.expire()
        first = lane.after as Deadline
      }
      if (first !== lane) waiting = true
      else if (this.#lanes.size > 16) this.#lanes.delete(ms)
    }
    if (waiting && this.#timer === null) this.#start()
  }
}
