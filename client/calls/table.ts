import type { JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { Deadline, type Deadlines } from '../../runtime/time/deadlines.js'
import { type Job, takeBack } from './job.js'

/** A job in the hands of one actor. */
export class Pending extends Deadline {
  readonly job: Job
  readonly reply: Deferred<JsonObject>
  readonly #onExpire: (pending: Pending) => void
  /** Undefined: the call waits. */
  id: number | undefined
  progress = Number.NEGATIVE_INFINITY

  constructor(job: Job, reply: Deferred<JsonObject>, onExpire: (pending: Pending) => void) {
    super()
    this.job = job
    this.reply = reply
    this.#onExpire = onExpire
  }

  expire(): void {
    this.#onExpire(this)
  }
}

/** Unsettled calls of users, by job, id, progress token and place in the queue. */
export class CallTable {
  readonly all = new TurnoverMap<Job, Pending>()
  readonly inFlight = new TurnoverMap<RequestId, Pending>()
  readonly byToken = new TurnoverMap<RequestId, Pending>()
  readonly #deadlines: Deadlines
  /** Calls that came back go before those that were never sent. */
  #returned = new Line()
  #fresh = new Line()
  #places = 0

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines
  }

  /** Calls in flight that count for `maxInFlight`: pings do not. */
  get places(): number {
    return this.#places
  }

  get waiting(): number {
    return this.#returned.calls.size + this.#fresh.calls.size
  }

  isWaiting(pending: Pending): boolean {
    return this.#returned.calls.has(pending) || this.#fresh.calls.has(pending)
  }

  allWaiting(): Pending[] {
    return [...this.#returned.calls, ...this.#fresh.calls]
  }

  takeWaiting(): Pending[] {
    const all = this.allWaiting()
    this.#returned = new Line()
    this.#fresh = new Line()
    return all
  }

  takeFirst(): Pending | undefined {
    return this.#returned.takeFirst() ?? this.#fresh.takeFirst()
  }

  wait(pending: Pending): void {
    this.#fresh.calls.add(pending)
  }

  putBack(pending: Pending): void {
    this.takeBack(pending)
    this.#returned.calls.add(pending)
  }

  sent(pending: Pending): void {
    const { id, job } = pending
    if (id === undefined) return
    this.inFlight.set(id, pending)
    if (takesPlace(job)) this.#places += 1
    if (job.progressToken !== undefined) this.byToken.set(job.progressToken, pending)
  }

  /** Nothing that comes for its last attempt counts. */
  takeBack(pending: Pending): void {
    this.#forget(pending)
    pending.progress = Number.NEGATIVE_INFINITY
    takeBack(pending.job)
  }

  settle(pending: Pending): void {
    this.#deadlines.disarm(pending)
    this.#returned.calls.delete(pending)
    this.#fresh.calls.delete(pending)
    this.all.delete(pending.job)
    this.#forget(pending)
  }

  #forget(pending: Pending): void {
    const { id, job } = pending
    if (job.progressToken !== undefined) this.byToken.delete(job.progressToken)
    if (id === undefined) return
    this.inFlight.delete(id)
    if (takesPlace(job)) this.#places -= 1
    pending.id = undefined
  }
}

class Line {
  readonly calls = new Set<Pending>()
  // A fresh iterator would look at all that was deleted before the first.
  #next = this.calls.values()

  takeFirst(): Pending | undefined {
    let { value: first } = this.#next.next()
    if (first === undefined) {
      // one that came to the end stays there
      this.#next = this.calls.values()
      first = this.#next.next().value
    }
    if (first !== undefined) this.calls.delete(first)
    return first
  }
}

/** Whether a call counts for `maxInFlight`: a ping must not wait for other calls. */
export function takesPlace({ wantsAnswer, method }: Job): boolean {
  return wantsAnswer && method !== 'ping'
}
