import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../runtime/time/clock.js'
import { Deadlines } from '../../runtime/time/deadlines.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { isSent, type Job, takeBack } from './job.js'
import type { Pending } from './pending-call.js'

/**
 * Every call that is not settled, by whatever it is looked for: its job, its id, its progress token, its
 * place in the queue.
 */
export class CallTable {
  readonly all = new TurnoverMap<Job, Pending>()
  readonly inFlight = new TurnoverMap<RequestId, Pending>()
  readonly byToken = new TurnoverMap<RequestId, Pending>()
  readonly deadlines: Deadlines
  #waiting = new Set<Pending>()
  #queue = this.#waiting.values()
  #places = 0

  constructor(clock: Clock) {
    this.deadlines = new Deadlines(clock)
  }

  /** Places that are taken by calls in flight: pings take none. */
  get places(): number {
    return this.#places
  }

  /** Those that wait for a connection, or for a place on it, in order. */
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
    // a fresh iterator would look at all that was deleted before the first; one that came to the end stays
    // there
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

  /**
   * Puts calls back into the queue, before those that have never been tried; answers all whose callers do not
   * want to wait for a connection.
   */
  putBack(calls: readonly Pending[]): Pending[] {
    // One that the server may have seen is made again here, or not at all.
    const waits = ({ job }: Pending): boolean => job.wait || isSent(job)
    const all = [...calls, ...this.#waiting]
    for (const pending of calls) if (waits(pending)) this.takeBack(pending)
    this.#line(all.filter(waits))
    return all.filter((pending) => !waits(pending))
  }

  /** What was sent, or is on its way, does not count any more: the call begins anew. */
  takeBack(pending: Pending): void {
    this.forget(pending)
    pending.progress = Number.NEGATIVE_INFINITY
    takeBack(pending.job)
  }

  /** The call is over. */
  settle(pending: Pending): void {
    this.deadlines.disarm(pending)
    this.#waiting.delete(pending)
    this.all.delete(pending.job)
    this.forget(pending)
  }

  /** No answer to what was sent counts any more. */
  forget(pending: Pending): void {
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

/** Whether a call counts as one in flight: who asks for a sign of life must not wait for others. */
export function takesPlace({ wantsAnswer, method }: Job): boolean {
  return wantsAnswer && method !== 'ping'
}
