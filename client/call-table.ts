import type { RequestId } from '../protocol/jsonrpc.js'
import type { Clock } from '../runtime/clock.js'
import { Deadlines } from '../runtime/deadlines.js'
import { TurnoverMap } from '../runtime/turnover.js'
import { isSent, type Job, takeBack } from './job.js'
import type { Pending } from './pending-call.js'

/** Every call that is not settled, by whatever it is looked for: its job, its id, its progress token, its place in the queue. */
export class CallTable {
  readonly all = new TurnoverMap<Job, Pending>()
  readonly inFlight = new TurnoverMap<RequestId, Pending>()
  readonly byToken = new TurnoverMap<RequestId, Pending>()
  readonly deadlines: Deadlines
  #waiting = new Set<Pending>()

  constructor(clock: Clock) {
    this.deadlines = new Deadlines(clock)
  }

  /** Those that wait for a connection, in order. */
  get waiting(): Set<Pending> {
    return this.#waiting
  }

  /** Empties the queue, and answers what was in it. */
  takeWaiting(): ReadonlySet<Pending> {
    const waiting = this.#waiting
    this.#waiting = new Set()
    return waiting
  }

  /** The call has an id, and waits for its answer. */
  sent(pending: Pending): void {
    const { id, job } = pending
    if (id !== undefined) this.inFlight.set(id, pending)
    if (job.progressToken !== undefined) this.byToken.set(job.progressToken, pending)
  }

  /** Puts calls back into the queue, before those that have never been tried; answers those whose callers do not want to wait. */
  putBack(calls: readonly Pending[]): Pending[] {
    // One that the server may have seen is made again here, or not at all.
    const waits = ({ job }: Pending): boolean => job.wait || isSent(job)
    const patient = calls.filter(waits)
    for (const pending of patient) this.takeBack(pending)
    this.#waiting = new Set([...patient, ...this.#waiting])
    return calls.filter((pending) => !waits(pending))
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
    if (pending.id !== undefined) this.inFlight.delete(pending.id)
    if (pending.job.progressToken !== undefined) this.byToken.delete(pending.job.progressToken)
    pending.id = undefined
  }
}
