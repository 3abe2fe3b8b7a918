import { AsyncResource } from 'node:async_hooks'
import { heapLimit } from '../base/heap.js'
import { LoopShare } from './loop-share.js'
import type { Order, World } from './world.js'

export interface Runnable {
  queued: boolean
  /** Handles so many messages at most. */
  run(budget: number): void
}

/** Messages per turn of the event loop, over all actors of the tree. */
const budgetPerTurn = 2000
/**
 * Milliseconds per turn of the event loop; a count alone does not bound heavy handlers. Whoever comes waits for a
 * turn or two before anybody sees it.
 */
const slice = 2
/** The same where what is begun waits: most of the time of a cold start is no task's. */
const longest = 50
/**
 * Messages between two looks at the time, at most. A turn begins with a look after each: where each takes
 * long, they come one in a turn.
 */
const lookEvery = 16
/**
 * Asynchronous tasks begun per turn. What they make is in memory together until the turn ends: for each 16 MiB
 * as a value, and again as a text, half of the heap has room.
 */
const tasksPerTurn = Math.max(4, Math.min(64, Math.floor(heapLimit() / 2 ** 26)))

/**
 * The run queue of a tree, drained in microtasks. Only the event loop refills its budget, so timers and
 * sockets are served while mailboxes drain. An asynchronous handler takes one microtask per message: the
 * budget spans them.
 */
export class Scheduler {
  #queue: Runnable[] = []
  #spare: Runnable[] = []
  #scheduled = false
  #refilling = false
  #left = budgetPerTurn
  #tasksLeft = tasksPerTurn
  #started = 0
  #handled = 0
  #nextLook = 1
  /** Turns run in the scope that started the tree, not in that of the first sender. */
  readonly #scope = new AsyncResource('CaduceusTree')
  readonly #turn = (): void => this.#scope.runInAsyncScope(this.#drain, this)
  readonly #share = new LoopShare()
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  enqueue(runnable: Runnable): void {
    runnable.queued = true
    this.#queue.push(runnable)
    if (this.#scheduled) return
    this.#scheduled = true
    // The turn is spent: the event loop comes first.
    if (this.#refilling && this.#left <= 0) return
    void tick.then(this.#turn)
  }

  /** A task has begun, and may have ended: then only its time counts. */
  began(hasEnded: boolean): void {
    this.#arm()
    if (hasEnded) return this.#look()
    this.#tasksLeft -= 1
    if (this.#tasksLeft <= 0 || this.#world.now() - this.#started > longest) this.#left = 0
  }

  /** How many messages an actor may handle after an asynchronous handler; 0 when the turn is spent. */
  allowance(): number {
    this.#arm()
    return Math.max(0, this.#left)
  }

  /** One message has been handled. Answers whether the turn is over. */
  spend(): boolean {
    this.#left -= 1
    this.#handled += 1
    if (this.#handled === this.#nextLook) {
      this.#nextLook += Math.min(this.#handled, lookEvery)
      this.#look()
    }
    return this.#left <= 0
  }

  /** Where the time of this turn is over, its remaining messages are forfeited. */
  #look(): void {
    if (this.#world.now() - this.#started > slice) this.#left = 0
  }

  #arm(): void {
    if (this.#refilling) return
    this.#refilling = true
    this.#started = this.#world.now()
    this.#world.setImmediate(this.#refill)
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
          runnable.run(this.#left)
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

  /** An error without an owner must not keep others from their turns. */
  #recover(batch: Runnable[], at: number): void {
    this.#yield(batch, at + 1)
    this.#scheduled = this.#queue.length > 0
    if (this.#scheduled) void tick.then(this.#turn)
  }

  /** The rest waits for the next turn, ahead of what was queued meanwhile. */
  #yield(batch: Runnable[], from: number): void {
    this.#queue = batch.slice(from).concat(this.#queue)
    this.#spare = []
  }

  readonly #refill = (): void => {
    if (this.#queue.length > 0 && !this.#share.mayWork()) return void this.#world.setImmediate(this.#refill)
    this.#refilling = false
    this.#left = budgetPerTurn
    this.#tasksLeft = tasksPerTurn
    this.#handled = 0
    this.#nextLook = 1
    this.#started = this.#world.now()
    if (this.#queue.length > 0) this.#turn()
  }
}

const tick = Promise.resolve()

/** A run queue in the order that is drawn: one actor in a turn of the event loop. */
export class ShuffledScheduler extends Scheduler {
  readonly #world: World
  readonly #order: Order
  readonly #waiting: Runnable[] = []
  readonly #scope = new AsyncResource('CaduceusTree')
  readonly #turn = (): void => this.#scope.runInAsyncScope(this.#next, this)

  constructor(world: World, order: Order) {
    super(world)
    this.#world = world
    this.#order = order
  }

  override enqueue(runnable: Runnable): void {
    runnable.queued = true
    if (this.#waiting.push(runnable) === 1) this.#world.setImmediate(this.#turn)
  }

  override began(): void {}

  override allowance(): number {
    return 0
  }

  override spend(): boolean {
    return false
  }

  #next(): void {
    const [runnable] = this.#waiting.splice(this.#order.next(this.#waiting.length), 1) as [Runnable]
    // first, as it may throw
    if (this.#waiting.length > 0) this.#world.setImmediate(this.#turn)
    runnable.queued = false
    runnable.run(this.#order.messages())
  }
}
