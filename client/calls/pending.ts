import { errorCodes, type ProtocolError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import {
  buildNotification,
  type JsonRpcErrorResponse,
  type JsonRpcResult,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import type { ProgressParams } from '../../protocol/messages/types/notifications.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { TransportError } from '../../transports/base/errors.js'
import type { CallPort } from './call-port.js'
import { CallTable, takesPlace } from './call-table.js'
import {
  callError,
  type ClientError,
  type ClientErrorCode,
  notReadyError,
  type Obstacle,
  unsentError,
} from '../base/errors.js'
import { isSent, type Job } from './job.js'
import {
  hasLeft,
  isGone,
  type LinkLoss,
  lossError,
  modernRevisionIn,
  Pending,
  progressOf,
  serverError,
} from './pending-call.js'
import { isRenewable, isRepeatable } from './repeatable.js'

/**
 * The calls of a client: those that wait for a connection, or for a place on it, in order, and those that
 * wait for their answer.
 */
export class PendingCalls {
  readonly #port: CallPort
  readonly #clock: Clock
  readonly #table: CallTable
  #lastId = 0

  constructor(port: CallPort, clock: Clock) {
    this.#port = port
    this.#clock = clock
    this.#table = new CallTable(clock)
  }

  /** All calls that are not settled. */
  get size(): number {
    return this.#table.all.size
  }

  get waiting(): number {
    return this.#table.waiting.size
  }

  get inFlight(): number {
    return this.#table.inFlight.size
  }

  /** An id that no request of this client has had. */
  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  /** Takes a call, and sends it if there is a connection, and a place on it. */
  admit(job: Job, reply: Deferred<JsonObject>, ready: boolean): void {
    const pending = new Pending(job, reply, (expired) => this.#expire(expired))
    this.#table.all.set(job, pending)
    const { deadlines } = this.#table
    if (job.attempts === 1) deadlines.arm(pending, job.timeout)
    else deadlines.armRest(pending, Math.max(0, job.deadline - this.#clock.now()))
    if (ready && this.#mayLeave(job)) this.#send(pending)
    else if (ready || job.wait || isSent(job)) this.#table.waiting.add(pending)
    else this.#turnAway(pending, this.#port.state.reason)
  }

  /** There is a connection: sends what waits, as far as there are places. */
  flush(): void {
    for (const pending of this.#table.takeWaiting()) {
      if (this.#mayLeave(pending.job)) this.#send(pending)
      else this.#table.waiting.add(pending)
    }
  }

  /** An answer has come; one that nobody waits for is dropped and counted. */
  answer(message: JsonRpcResult | JsonRpcErrorResponse): void {
    const { id } = message
    const pending = id === undefined ? undefined : this.#table.inFlight.get(id)
    if (pending === undefined) {
      const ours = typeof id === 'number' && id > 0 && id <= this.#lastId
      this.#port.counts[ours ? 'late' : 'unknown'] += 1
      return
    }
    if ('error' in message && message.error.code === errorCodes.unsupportedProtocolVersion) {
      if (this.#misfits(pending, message)) return this.#sendNext()
    }
    this.#table.settle(pending)
    if ('result' in message) pending.reply.resolve(message.result)
    else pending.reply.reject(serverError(message.error))
    this.#sendNext()
  }

  /** What should have been an answer is none: no other will come. False when nobody waits for that id. */
  answeredBadly(id: RequestId | undefined, cause: ProtocolError): boolean {
    const pending = id === undefined ? undefined : this.#table.inFlight.get(id)
    if (pending === undefined) return false
    const message = `${pending.job.method}: ${cause.message}`
    this.#reject(pending, callError('INVALID_RESPONSE', message, { sent: true, retryable: false, cause }))
    this.#sendNext()
    return true
  }

  /** News of how far a call is; what does not go forward is an error of the server, and ignored. */
  report(params: ProgressParams): void {
    const pending = this.#table.byToken.get(params.progressToken)
    if (pending === undefined || params.progress <= pending.progress) return
    pending.progress = params.progress
    this.#prolong(pending)
    pending.job.onProgress?.(progressOf(params))
  }

  /**
   * This request will get no answer. True when the server cannot be reached: what never left waits for a
   * better moment, and so does what was lost with a server that is gone, and with it the session, most
   * likely, if it may be made again then.
   */
  lost(id: RequestId, error: TransportError): boolean {
    const pending = this.#table.inFlight.get(id)
    if (pending === undefined) return false
    const away = this.#lose(pending, error)
    // otherwise this connection ends, or is not to be used for now
    if (!away && error.code !== 'NOT_OPEN' && error.code !== 'SESSION_NOT_FOUND') this.#sendNext()
    return away
  }

  #lose(pending: Pending, error: TransportError): boolean {
    // the transport had it, and knows now what became of it
    if (!hasLeft(error)) pending.job.ticket.sent = false
    // NOT_OPEN: this connection is about to end, and the next one takes it
    if (error.code === 'CONNECT_FAILED' || error.code === 'NOT_OPEN') {
      this.#putBack([pending], error)
      return error.code === 'CONNECT_FAILED'
    }
    const { job } = pending
    if (error.code === 'SESSION_NOT_FOUND' && isRenewable(job)) {
      job.refusals += 1
      this.#port.counts.repeated += 1
      this.#putBack([pending], error)
      return false
    }
    const gone = isGone(error)
    const again = isRepeatable(job, this.#port.tools)
    if (gone && again) {
      this.#noteRepeated(job)
      this.#putBack([pending], error)
      return true
    }
    if (this.#retriesLater(pending, error)) return false
    // a loss may hit anybody; to ask again whoever refused is for the caller to allow
    const isLoss = error.code === 'CONNECTION_LOST' || error.code === 'PROCESS_EXITED'
    const allowed = isLoss || (job.retry === 'safe' && error.code !== 'SEND_FAILED')
    if (again && allowed && error.retryable) this.#repeat(pending)
    else this.#reject(pending, lossError(job, error))
    return gone
  }

  /** The server cannot be reached now: what waits for a place waits for a better moment. */
  interrupted(reason: Error): void {
    this.#putBack([], reason)
  }

  /**
   * The connection is over: what never left waits for the next one, and whoever waits for an answer is told
   * at once.
   */
  linkEnded(error: Error, { sessionGone, fatal }: LinkLoss): void {
    const back: Pending[] = []
    for (const pending of [...this.#table.inFlight.values()]) {
      const { job } = pending
      const again = !fatal && isRepeatable(job, this.#port.tools)
      if (job.ticket.sent && !again) {
        const code: ClientErrorCode = sessionGone ? 'SESSION_NOT_FOUND' : 'CONNECTION_LOST'
        this.#reject(
          pending,
          callError(code, `${job.method}: ${error.message}`, { sent: true, retryable: !fatal, cause: error }),
        )
        continue
      }
      if (job.ticket.sent) this.#noteRepeated(job)
      back.push(pending)
    }
    this.#putBack(back, error)
  }

  /** The caller gave a call up. */
  cancel(job: Job, reason: string): void {
    const pending = this.#table.all.get(job)
    if (pending === undefined) return
    this.#abandon(pending, callError('CANCELLED', reason, { sent: isSent(job), retryable: false }), reason)
    this.#sendNext()
  }

  /** Fails every call that waits for a connection. */
  failWaiting(error: (job: Job) => ClientError): void {
    for (const pending of [...this.#table.waiting]) this.#reject(pending, error(pending.job))
  }

  /** Fails every call. */
  failAll(error: (job: Job) => ClientError): void {
    for (const pending of [...this.#table.all.values()]) this.#reject(pending, error(pending.job))
  }

  /** Whether a call can be sent on a connection that is ready, now. */
  #mayLeave(job: Job): boolean {
    return this.#table.places < this.#port.maxInFlight || !takesPlace(job)
  }

  /** A place is free, maybe, and what waits for one is sent. */
  #sendNext(): void {
    const { waiting } = this.#table
    const { maxInFlight } = this.#port
    while (waiting.size > 0 && this.#table.places < maxInFlight && this.#port.speaks) {
      const next = this.#table.takeFirst()
      if (next !== undefined) this.#send(next)
    }
  }

  #send(pending: Pending): void {
    const { job, reply } = pending
    const { link, speech } = this.#port
    const { method, params, paramsText, ticket } = job
    if (!job.wantsAnswer) {
      const tail = paramsText === undefined ? '}' : `,"params":${paramsText}}`
      this.#table.settle(pending)
      link.send(
        `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${tail}`,
        params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params },
      )
      return reply.resolve({})
    }
    const id = this.nextId()
    pending.id = id
    job.dialect = speech.dialect
    this.#table.sent(pending)
    const { text, message, options } = speech.write(id, job)
    link.send(text, message, { ticket, options })
  }

  /** Calls wait for the next connection, as long as their callers want them to. */
  #putBack(calls: readonly Pending[], reason: Error): void {
    for (const pending of this.#table.putBack(calls)) this.#turnAway(pending, reason)
  }

  #turnAway(pending: Pending, reason: Error | undefined): void {
    pending.job.ticket.revoked = true
    this.#reject(pending, notReadyError(pending.job, reason, isSent(pending.job)))
  }

  /** The same call once more on this connection. */
  #repeat(pending: Pending): void {
    this.#table.takeBack(pending)
    this.#noteRepeated(pending.job)
    this.#send(pending)
  }

  #noteRepeated(job: Job): void {
    job.repeated = true
    this.#port.counts.repeated += 1
  }

  /**
   * The server refuses our revision: a call that may still fit is made again, once; otherwise the server has
   * to be asked anew.
   */
  #misfits(pending: Pending, { error }: JsonRpcErrorResponse): boolean {
    if (this.#port.speech.dialect.handshake) return false
    if (modernRevisionIn(error) && !pending.job.repeated) {
      this.#repeat(pending)
      return true
    }
    const refusal = serverError(error)
    this.#reject(pending, refusal)
    this.#port.misfit(refusal)
    return true
  }

  /** A server that is too busy says when it may be asked again; how often that is done is bounded. */
  #retriesLater(pending: Pending, error: TransportError): boolean {
    const { job } = pending
    const isOurs = job.retry === undefined || job.retry === 'safe'
    const wait = isOurs ? this.#port.budget?.waitFor(error, job.deadline, this.#clock.now()) : undefined
    if (wait === undefined) return false
    this.#table.takeBack(pending)
    this.#port.counts.repeated += 1
    this.#clock.setTimeout(() => {
      if (!this.#table.all.has(job) || pending.id !== undefined || this.#table.waiting.has(pending)) return
      this.#table.waiting.add(pending)
      this.#sendNext()
    }, wait)
    return true
  }

  /** Progress is a reason to go on waiting, up to the time that the call may take in all. */
  #prolong(pending: Pending): void {
    const { job } = pending
    if (!job.resetOnProgress) return
    const now = this.#clock.now()
    const left = Math.ceil(Math.min(job.timeout, job.lastDeadline - now))
    if (left <= 0) return
    const { deadlines } = this.#table
    deadlines.disarm(pending)
    job.deadline = now + left
    if (left === job.timeout) deadlines.arm(pending, left)
    else deadlines.armRest(pending, left)
  }

  #expire(pending: Pending): void {
    const { method, timeout, ticket } = pending.job
    const error = ticket.sent
      ? callError('TIMEOUT', `${method}: no answer within ${timeout} ms`, { sent: true })
      : unsentError(pending.job, this.#obstacle(pending), isSent(pending.job))
    this.#abandon(pending, error, `no answer within ${timeout} ms`)
    this.#sendNext()
  }

  /** What a call waits for. */
  #obstacle(pending: Pending): Obstacle {
    const { speaks, state } = this.#port
    return speaks && this.#table.waiting.has(pending) ? { ...state, busy: this.#table.places } : state
  }

  /**
   * Nobody waits for this call any more: what did not leave stays here, and of the rest the server is told.
   */
  #abandon(pending: Pending, error: ClientError, reason: string): void {
    const { id } = pending
    const { ticket } = pending.job
    this.#reject(pending, error)
    if (!ticket.sent) ticket.revoked = true
    else if (id !== undefined) this.#tellCancelled(id, reason)
  }

  #tellCancelled(id: RequestId, reason: string): void {
    const { link, speech } = this.#port
    if (speech.cancels === 'close') link.abort(id)
    else link.tell(buildNotification('notifications/cancelled', { requestId: id, reason }))
  }

  #reject(pending: Pending, error: unknown): void {
    this.#table.settle(pending)
    pending.reply.reject(error)
  }
}
