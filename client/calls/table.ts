import type { JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { Deadline, type Deadlines } from '../../runtime/time/deadlines.js'
import { isSent, type Job, takeBack } from './job.js'

/** A job in the hands of one actor: it waits for a connection, and then for its answer. */
export class Pending extends Deadline {
  readonly job: Job
  readonly reply: Deferred<JsonObject>
  readonly #onExpire: (pending: Pending) => void
  /** Of the request that is in flight; undefined: the call waits. */
  id: number | undefined
  /** The last `progress` that the server reported. */
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

/**
 * Every call of users that is not settled: by its job, its id, its progress token, its place in the queue.
 */
export class CallTable {
  readonly all = new TurnoverMap<Job, Pending>()
  readonly inFlight = new TurnoverMap<RequestId, Pending>()
  readonly byToken = new TurnoverMap<RequestId, Pending>()
  readonly #deadlines: Deadlines
  #waiting = new Set<Pending>()
  #queue = this.#waiting.values()
  #places = 0

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines
  }

  /** Calls in flight that count for `maxInFlight`: pings do not. */
  get places(): number {
    return this.#places
  }

  /** Calls that wait for a connection, or for a place on it, in order. */
  get waiting(): Set<Pending> {
    return this.#waiting
  }

  /** Empties the queue, and answers what was in it. */
  takeWaiting(): ReadonlySet<Pending> {
    const waiting = this.#waiting
    this.#line([])
    return waiting
  }

  /** Takes the first out of the queue. */
  takeFirst(): Pending | undefined {
    // A fresh iterator would look at all that was deleted before the first. One that came to the end stays
    // there.
    let { value: first } = this.#queue.next()
    if (first === undefined) {
      this.#queue = this.#waiting.values()
      first = this.#queue.next().value
    }
    if (first !== undefined) this.#waiting.delete(first)
    return first
  }

  /** The call has an id, and waits for its answer. */
  sent(pending: Pending): void {
    const { id, job } = pending
    if (id === undefined) return
    this.inFlight.set(id, pending)
    if (takesPlace(job)) this.#places += 1
    if (job.progressToken !== undefined) this.byToken.set(job.progressToken, pending)
  }

  /** Puts calls at the front of the queue; answers all calls that do not want to wait for a connection. */
  putBack(calls: readonly Pending[]): Pending[] {
    // One that the server may have seen is made again here, or not at all.
    const waits = ({ job }: Pending): boolean => job.call.wait || isSent(job)
    const all = [...calls, ...this.#waiting]
    for (const pending of calls) if (waits(pending)) this.takeBack(pending)
    this.#line(all.filter(waits))
    return all.filter((pending) => !waits(pending))
  }

  /** The call begins anew: nothing that comes for its last attempt counts. */
  takeBack(pending: Pending): void {
    this.#forget(pending)
    pending.progress = Number.NEGATIVE_INFINITY
    takeBack(pending.job)
  }

  /** The call is over. */
  settle(pending: Pending): void {
    this.#deadlines.disarm(pending)
    this.#waiting.delete(pending)
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

  #line(calls: readonly Pending[]): void {
    this.#waiting = new Set(calls)
    this.#queue = this.#waiting.values()
  }
}

/** Whether a call counts for `maxInFlight`: a ping must not wait for other calls. */
export function takesPlace({ wantsAnswer, method }: Job): boolean {
  return wantsAnswer && method !== 'ping'
}
