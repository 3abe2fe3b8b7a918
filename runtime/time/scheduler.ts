import { AsyncResource } from 'node:async_hooks'

/** Something with a mailbox that can be given a turn. */
export interface Runnable {
  /** Whether it stands in the run queue already. */
  queued: boolean
  /** Handles up to `budget` messages and answers how many. */
  run(budget: number): number
}

/** Messages per turn of the event loop, over all actors of the tree. */
const budgetPerTurn = 2000
/** Milliseconds per turn of the event loop: cold or heavy handlers make a count alone useless. */
const slice = 5
/** Messages between two looks at the time. */
const lookEvery = 16

/**
 * One run queue for a tree, drained in microtasks. The budget is counted across microtasks (an async handler
 * takes one turn per message) and refilled by the event loop only, so that timers and sockets are served
 * while mailboxes drain.
 */
export class Scheduler {
  #queue: Runnable[] = []
  #spare: Runnable[] = []
  #scheduled = false
  #refilling = false
  #left = budgetPerTurn
  #started = 0
  #unlooked = 0
  /** Turns run in the scope the tree was started in, not in that of whoever sent the first message. */
  readonly #scope = new AsyncResource('CaduceusTree')
  readonly #turn = (): void => this.#scope.runInAsyncScope(this.#drain, this)

  enqueue(runnable: Runnable): void {
    runnable.queued = true
    this.#queue.push(runnable)
    if (this.#scheduled) return
    this.#scheduled = true
    // The turn is spent: the event loop comes first.
    if (this.#refilling && this.#left <= 0) return
    void tick.then(this.#turn)
  }

  /**
   * How many messages somebody may go on with in a microtask of its own, after an asynchronous handler; 0
   * when the turn is spent and it has to queue up.
   */
  allowance(): number {
    this.#arm()
    return Math.max(0, this.#left)
  }

  /** Counts messages against the turn, and looks at the time every few of them. */
  spend(handled: number): void {
    this.#left -= handled
    this.#unlooked += handled
    if (this.#unlooked < lookEvery) return
    this.#unlooked = 0
    this.late()
  }

  /** Whether the time of this turn is over; what is left of its messages is forfeited then. */
  late(): boolean {
    if (performance.now() - this.#started <= slice) return false
    this.#left = 0
    return true
  }

  #arm(): void {
    if (this.#refilling) return
    this.#refilling = true
    this.#started = performance.now()
    setImmediate(this.#refill)
  }

  #drain(): void {
    this.#arm()
    while (this.#queue.length > 0) {
      const batch = this.#queue
      this.#queue = this.#spare
      let at = 0
      try {
        for (; at < batch.length; at++) {
          if (this.#left <= 0) return this.#yield(batch, at)
          const runnable = batch[at] as Runnable
          runnable.queued = false
          this.spend(runnable.run(this.#left))
        }
      } catch (error) {
        this.#recover(batch, at)
        throw error
      }
      batch.length = 0
      this.#spare = batch
    }
    this.#scheduled = false
  }

  /** What no actor answered for must not keep the others from their turns. */
  #recover(batch: Runnable[], at: number): void {
    this.#yield(batch, at + 1)
    this.#scheduled = this.#queue.length > 0
    if (this.#scheduled) void tick.then(this.#turn)
  }

  /** The rest waits for the event loop to come round, ahead of what was queued meanwhile. */
  #yield(batch: Runnable[], from: number): void {
    this.#queue = batch.slice(from).concat(this.#queue)
    this.#spare = []
  }

  readonly #refill = (): void => {
    this.#refilling = false
    this.#left = budgetPerTurn
    this.#started = performance.now()
    if (this.#queue.length > 0) this.#turn()
  }
}

const tick = Promise.resolve()
