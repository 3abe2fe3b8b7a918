import { isObject, type JsonObject } from '../protocol/json.js'
import {
  buildNotification,
  type JsonRpcErrorResponse,
  type JsonRpcResult,
  type Message,
  type RequestId,
} from '../protocol/jsonrpc.js'
import { type JsonRpcError, McpError, type ProtocolError } from '../protocol/errors.js'
import type { ProgressParams } from '../protocol/types/notifications.js'
import type { Deferred } from '../runtime/behaviour.js'
import type { Clock } from '../runtime/clock.js'
import { Deadline, Deadlines } from '../runtime/deadlines.js'
import type { TransportError } from '../transports/errors.js'
import type { ClientLink } from './client-link.js'
import { callError, type ClientError, type ClientErrorCode, unsentError } from './errors.js'
import { isRepeatable, type Job, takeBack } from './job.js'
import type { ClientCounts } from './state.js'

/** How a connection ended: whether the server has forgotten the session, and whether trying again is of no use. */
export interface LinkLoss {
  readonly sessionGone: boolean
  readonly fatal: boolean
}

/** One call of one incarnation: it waits for a connection, and then for its answer. */
class Pending extends Deadline {
  readonly job: Job
  readonly reply: Deferred<JsonObject>
  readonly #onExpire: (pending: Pending) => void
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

/** Deadlines of calls that are made again are rounded up to this many ms: there is one list of deadlines for each length. */
const grain = 100

/** The calls of a client: those that wait for a connection, in order, and those that wait for their answer. */
export class PendingCalls {
  readonly #link: ClientLink
  readonly #clock: Clock
  readonly #counts: ClientCounts
  readonly #why: () => Error | undefined
  readonly #deadlines: Deadlines
  readonly #all = new Map<Job, Pending>()
  readonly #inFlight = new Map<RequestId, Pending>()
  readonly #byToken = new Map<RequestId, Pending>()
  #waiting = new Set<Pending>()
  #lastId = 0

  /** `why` answers why there is no connection, as far as that is known. */
  constructor(link: ClientLink, clock: Clock, counts: ClientCounts, why: () => Error | undefined) {
    this.#link = link
    this.#clock = clock
    this.#counts = counts
    this.#why = why
    this.#deadlines = new Deadlines(clock)
  }

  /** All calls that are not settled. */
  get size(): number {
    return this.#all.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** An id that no request of this client has had. */
  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  /** Takes a call, and sends it if there is a connection. */
  admit(job: Job, reply: Deferred<JsonObject>, ready: boolean): void {
    const pending = new Pending(job, reply, (expired) => this.#expire(expired))
    this.#all.set(job, pending)
    const left =
      job.attempts === 1 ? job.timeout : Math.ceil((job.deadline - this.#clock.now()) / grain) * grain
    this.#deadlines.arm(pending, Math.max(0, left))
    if (ready) this.#send(pending)
    else this.#waiting.add(pending)
  }

  /** There is a connection: sends what waits. */
  flush(): void {
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const pending of waiting) this.#send(pending)
  }

  /** An answer has come; one that nobody waits for is dropped and counted. */
  answer(message: JsonRpcResult | JsonRpcErrorResponse): void {
    const { id } = message
    const pending = id === undefined ? undefined : this.#inFlight.get(id)
    if (pending === undefined) {
      const ours = typeof id === 'number' && id > 0 && id <= this.#lastId
      this.#counts[ours ? 'late' : 'unknown'] += 1
      return
    }
    this.#settle(pending)
    if ('result' in message) pending.reply.resolve(message.result)
    else pending.reply.reject(serverError(message.error))
  }

  /** What should have been an answer is none: no other will come. False when nobody waits for that id. */
  answeredBadly(id: RequestId | undefined, cause: ProtocolError): boolean {
    const pending = id === undefined ? undefined : this.#inFlight.get(id)
    if (pending === undefined) return false
    const message = `${pending.job.method}: ${cause.message}`
    this.#reject(pending, callError('INVALID_RESPONSE', message, { sent: true, retryable: false, cause }))
    return true
  }

  /** News of how far a call is; what does not go forward is an error of the server, and ignored. */
  report({ progressToken, progress, total, message }: ProgressParams): void {
    const pending = this.#byToken.get(progressToken)
    if (pending === undefined || progress <= pending.progress) return
    pending.progress = progress
    const report = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    }
    pending.job.onProgress?.(report)
  }

  /** This request will get no answer. True when it never left and waits for a better moment: the server cannot be reached. */
  lost(id: RequestId, error: TransportError): boolean {
    const pending = this.#inFlight.get(id)
    if (pending === undefined) return false
    if (error.code === 'CONNECT_FAILED') {
      this.#putBack([pending])
      return true
    }
    const lost = error.code === 'CONNECTION_LOST' || error.code === 'PROCESS_EXITED'
    const sent = error.code !== 'SEND_FAILED' && error.code !== 'NOT_OPEN'
    const { method } = pending.job
    const code = lost ? 'CONNECTION_LOST' : 'REQUEST_FAILED'
    this.#reject(
      pending,
      callError(code, `${method}: ${error.message}`, { sent, retryable: error.retryable, cause: error }),
    )
    return false
  }

  /** The connection is over: what never left waits for the next one, and whoever waits for an answer is told at once. */
  linkEnded(error: Error, { sessionGone, fatal }: LinkLoss): void {
    const back: Pending[] = []
    for (const pending of [...this.#inFlight.values()]) {
      const { job } = pending
      const again = sessionGone && isRepeatable(job)
      if (job.ticket.sent && !again) {
        const code: ClientErrorCode = sessionGone ? 'SESSION_NOT_FOUND' : 'CONNECTION_LOST'
        this.#reject(
          pending,
          callError(code, `${job.method}: ${error.message}`, { sent: true, retryable: !fatal, cause: error }),
        )
        continue
      }
      if (job.ticket.sent) {
        job.repeated = true
        this.#counts.repeated += 1
      }
      back.push(pending)
    }
    this.#putBack(back)
  }

  /** The caller gave a call up. */
  cancel(job: Job, reason: string): void {
    const pending = this.#all.get(job)
    if (pending !== undefined)
      this.#abandon(pending, callError('CANCELLED', reason, { sent: job.ticket.sent }), reason)
  }

  /** Fails every call that waits for a connection. */
  failWaiting(error: (job: Job) => ClientError): void {
    for (const pending of [...this.#waiting]) this.#reject(pending, error(pending.job))
  }

  /** Fails every call. */
  failAll(error: (job: Job) => ClientError): void {
    for (const pending of [...this.#all.values()]) this.#reject(pending, error(pending.job))
  }

  #send(pending: Pending): void {
    const { job, reply } = pending
    const { method, params, paramsText, ticket } = job
    const tail = paramsText === undefined ? '}' : `,"params":${paramsText}}`
    if (!job.wantsAnswer) {
      this.#settle(pending)
      this.#link.send(
        `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${tail}`,
        withParams({ jsonrpc: '2.0', method }, params),
      )
      return reply.resolve({})
    }
    const id = this.nextId()
    pending.id = id
    this.#inFlight.set(id, pending)
    if (job.progressToken !== undefined) this.#byToken.set(job.progressToken, pending)
    const text = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${tail}`
    this.#link.send(text, withParams({ jsonrpc: '2.0', id, method }, params), ticket)
  }

  /** Puts calls back into the queue, before those that have never been tried. */
  #putBack(calls: readonly Pending[]): void {
    for (const pending of calls) {
      this.#forget(pending)
      pending.progress = Number.NEGATIVE_INFINITY
      takeBack(pending.job)
    }
    this.#waiting = new Set([...calls, ...this.#waiting])
  }

  #expire(pending: Pending): void {
    const { method, timeout, ticket } = pending.job
    const error = ticket.sent
      ? callError('TIMEOUT', `${method}: no answer within ${timeout} ms`, { sent: true })
      : unsentError(pending.job, this.#why())
    this.#abandon(pending, error, `no answer within ${timeout} ms`)
  }

  /** Nobody waits for this call any more: what did not leave stays here, and of the rest the server is told. */
  #abandon(pending: Pending, error: ClientError, reason: string): void {
    const { id } = pending
    const { ticket } = pending.job
    this.#reject(pending, error)
    if (!ticket.sent) ticket.revoked = true
    else if (id !== undefined)
      this.#link.tell(buildNotification('notifications/cancelled', { requestId: id, reason }))
  }

  #reject(pending: Pending, error: unknown): void {
    this.#settle(pending)
    pending.reply.reject(error)
  }

  #settle(pending: Pending): void {
    this.#deadlines.disarm(pending)
    this.#waiting.delete(pending)
    this.#all.delete(pending.job)
    this.#forget(pending)
  }

  #forget(pending: Pending): void {
    if (pending.id !== undefined) this.#inFlight.delete(pending.id)
    if (pending.job.progressToken !== undefined) this.#byToken.delete(pending.job.progressToken)
    pending.id = undefined
  }
}

function withParams(message: Message, params: JsonObject | undefined): Message {
  return params === undefined ? message : ({ ...message, params } as Message)
}

/** What the server answered; some servers say in `data` that trying again can help. */
function serverError({ code, message, data }: JsonRpcError): McpError {
  return new McpError(code, message, { data, retryable: isObject(data) && data.retryable === true })
}
