import { errorCodes, type ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import {
  buildNotification,
  type JsonRpcErrorResponse,
  type JsonRpcResult,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import type { ProgressParams } from '../../protocol/messages/progress.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { World } from '../../runtime/time/world.js'
import { Deadlines } from '../../runtime/time/deadlines.js'
import type { TransportError } from '../../transports/base/errors.js'
import {
  callError,
  type ClientError,
  type ClientErrorCode,
  notReadyError,
  type Obstacle,
  unsentError,
} from '../base/errors.js'
import type { ClientState, Phase } from '../base/state.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientLink } from './client-link.js'
import { hasLeft, isGone, lossError, modernRevisionIn, serverError } from './errors.js'
import { isSent, type Job } from './job.js'
import { isRenewable, isRepeatable } from './repeat.js'
import { type Speech, writeNotification } from './speech.js'
import { CallTable, Pending, takesPlace } from './table.js'

export interface CallHost {
  readonly settings: { readonly maxInFlight: number }
  readonly holdings: Holdings
  readonly link: ClientLink
  readonly speech: Speech
  readonly connection: { readonly phase: Phase; readonly state: ClientState }
  /** The server refuses the revision that requests are written in. */
  misfit(error: Error): void
}

/** A request that the client makes for itself: a handshake, ping, wish or stream of changes. */
interface OwnRequest {
  readonly method: string
  readonly params?: JsonObject
  /** Makes its id a text, `PREFIX-NUMBER`. */
  readonly prefix?: string
  /** In ms; Infinity: as long as the connection lasts. */
  readonly timeout: number
  /** Whether the server is told of a timeout. Default true. */
  readonly cancels?: boolean
  /** Called once, unless the connection ends before. */
  done(outcome: OwnOutcome): void
}

export type OwnOutcome =
  | { readonly type: 'answer'; readonly message: JsonRpcResult | JsonRpcErrorResponse }
  /** The message with its id is no valid answer. */
  | { readonly type: 'junk'; readonly error: ProtocolError }
  | { readonly type: 'lost'; readonly error: TransportError }
  | { readonly type: 'timeout' }

interface OwnEntry {
  readonly request: OwnRequest
  readonly timer: unknown
}

/** Unanswered requests: users' calls, queued and sent, and the client's own, bound to one connection. */
export class Calls {
  readonly #host: CallHost
  readonly #world: World
  readonly #deadlines: Deadlines
  readonly #table: CallTable
  readonly #own = new Map<RequestId, OwnEntry>()
  #lastId = 0

  constructor(host: CallHost, world: World) {
    this.#host = host
    this.#world = world
    this.#deadlines = new Deadlines(world)
    this.#table = new CallTable(this.#deadlines)
  }

  get size(): number {
    return this.#table.all.size
  }

  get waiting(): number {
    return this.#table.waiting
  }

  get inFlight(): number {
    return this.#table.inFlight.size
  }

  /** Whether a request with this id has no answer yet. */
  awaits(id: RequestId): boolean {
    return this.#own.has(id) || this.#table.inFlight.has(id)
  }

  /** Takes a call of a user; sends it if it can. */
  admit(job: Job, reply: Deferred<JsonObject>): void {
    const pending = new Pending(job, reply, (expired) => this.#expire(expired))
    this.#table.all.set(job, pending)
    if (job.attempts === 1) this.#deadlines.arm(pending, job.call.timeout)
    else this.#deadlines.armRest(pending, Math.max(0, job.deadline - this.#world.now()))
    const isReady = this.#isReady
    if (isReady && this.#mayLeave(job)) this.#send(pending)
    else if (isReady || mayWait(job)) this.#table.wait(pending)
    else this.#turnAway(pending, this.#host.connection.state.reason)
  }

  /** Answers the id. */
  ask(request: OwnRequest): RequestId {
    const { method, params, prefix, timeout } = request
    const { link, speech } = this.#host
    const id = prefix === undefined ? this.#nextId() : `${prefix}-${this.#nextId()}`
    const expire = (): void => {
      this.#settleOwn(id, { type: 'timeout' })
      if (speech.cancels === 'close' || request.cancels !== false) this.#tellCancelled(id, speech)
    }
    const timer = Number.isFinite(timeout) ? this.#world.setTimeout(expire, timeout) : undefined
    this.#own.set(id, { request, timer })
    const paramsText = params === undefined ? undefined : JSON.stringify(params)
    link.send(speech.write(id, { method, params, paramsText }))
    return id
  }

  /** Connected: sends what waits, as far as there are places. */
  flush(): void {
    for (const pending of this.#table.takeWaiting()) {
      if (this.#mayLeave(pending.job)) this.#send(pending)
      else this.#table.wait(pending)
    }
  }

  answer(message: JsonRpcResult | JsonRpcErrorResponse): void {
    const { id } = message
    if (id === undefined) return this.#count('junk')
    if (this.#settleOwn(id, { type: 'answer', message })) return
    const pending = this.#table.inFlight.get(id)
    if (pending === undefined) return this.dropped(id)
    if ('error' in message && message.error.code === errorCodes.unsupportedProtocolVersion) {
      if (this.#misfits(pending, message)) return this.#sendNext()
    }
    this.#table.settle(pending)
    if ('result' in message) pending.reply.resolve(message.result)
    else pending.reply.reject(serverError(message.error))
    this.#sendNext()
  }

  /** An answer that nobody waits for is counted. */
  dropped(id: RequestId): void {
    this.#count(typeof id === 'number' && id > 0 && id <= this.#lastId ? 'late' : 'unknown')
  }

  /** The answer is invalid, and no other will come. */
  answeredBadly(id: RequestId, cause: ProtocolError): void {
    if (this.#settleOwn(id, { type: 'junk', error: cause })) return
    const pending = this.#table.inFlight.get(id)
    if (pending === undefined) return
    const message = `${pending.job.method}: ${cause.message}`
    this.#reject(pending, callError('INVALID_RESPONSE', message, { sent: true, retryable: false, cause }))
    this.#sendNext()
  }

  /** The server reports progress; what does not go forward is ignored. */
  report(params: ProgressParams): void {
    const { progressToken, progress, total, message } = params
    const pending = this.#table.byToken.get(progressToken)
    if (pending === undefined) return this.#host.holdings.taskNews.reported(params)
    if (progress <= pending.progress) return
    pending.progress = progress
    this.#prolong(pending)
    pending.job.onProgress?.({
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    })
  }

  /** No answer will come. True when the server cannot be reached; the call may wait for a connection. */
  lost(id: RequestId, error: TransportError): boolean {
    const isSession = error.code === 'SESSION_NOT_FOUND'
    const own = this.#own.get(id)
    if (own !== undefined) {
      // a lost session ends the connection, which ends all of these; only the handshake is refused by it
      if (!isSession || own.request.method === 'initialize') this.#settleOwn(id, { type: 'lost', error })
      return false
    }
    const pending = this.#table.inFlight.get(id)
    if (pending === undefined) return false
    const isAway = this.#lose(pending, error)
    // otherwise this connection ends, or is not to be used for now
    if (!isAway && !isSession && error.code !== 'NOT_OPEN') this.#sendNext()
    return isAway && !isSession
  }

  #lose(pending: Pending, error: TransportError): boolean {
    // the transport had it, and knows now what became of it
    if (!hasLeft(error)) pending.job.ticket.sent = false
    // NOT_OPEN: this connection is about to end, and the next one takes it
    if (error.code === 'CONNECT_FAILED' || error.code === 'NOT_OPEN') {
      this.#putBack(pending, error)
      return error.code === 'CONNECT_FAILED'
    }
    const { job } = pending
    if (error.code === 'SESSION_NOT_FOUND' && isRenewable(job)) {
      job.refusals += 1
      this.#count('repeated')
      this.#putBack(pending, error)
      return false
    }
    const gone = isGone(error)
    const again = isRepeatable(job, this.#host.holdings.tools)
    if (gone && again) {
      this.#noteRepeated(job)
      this.#putBack(pending, error)
      return true
    }
    if (this.#retriesLater(pending, error)) return false
    // a loss may hit any call; after a refusal only the caller can allow to ask again
    const isLoss = error.code === 'CONNECTION_LOST' || error.code === 'PROCESS_EXITED'
    const allowed = isLoss || (job.call.retry === 'safe' && error.code !== 'SEND_FAILED')
    if (again && allowed && error.retryable) this.#repeat(pending)
    else this.#reject(pending, lossError(job, error))
    return gone
  }

  /** The server cannot be reached: fails calls that wait for a place but not for a connection. */
  interrupted(reason: Error): void {
    for (const pending of this.#table.allWaiting()) if (!mayWait(pending.job)) this.#turnAway(pending, reason)
  }

  /** Calls that never left wait for the next connection; the others settle at once. */
  linkEnded(error: Error, how: { readonly sessionGone: boolean; readonly fatal: boolean }): void {
    const code: ClientErrorCode = how.sessionGone ? 'SESSION_NOT_FOUND' : 'CONNECTION_LOST'
    for (const pending of [...this.#table.inFlight.values()]) {
      const { job } = pending
      const isLost = job.ticket.sent
      if (isLost && (how.fatal || !isRepeatable(job, this.#host.holdings.tools))) {
        const details = { sent: true, retryable: !how.fatal, cause: error }
        this.#reject(pending, callError(code, `${job.method}: ${error.message}`, details))
        continue
      }
      if (isLost) this.#noteRepeated(job)
      this.#putBack(pending, error)
    }
    this.interrupted(error)
  }

  cancel(job: Job, reason: string): void {
    const pending = this.#table.all.get(job)
    if (pending === undefined) return
    this.#abandon(pending, callError('CANCELLED', reason, { sent: isSent(job), retryable: false }), reason)
    this.#sendNext()
  }

  failWaiting(error: (job: Job) => ClientError): void {
    for (const pending of this.#table.allWaiting()) this.#reject(pending, error(pending.job))
  }

  failAll(error: (job: Job) => ClientError): void {
    for (const pending of [...this.#table.all.values()]) this.#reject(pending, error(pending.job))
  }

  forget(id: RequestId): void {
    this.#world.clearTimeout(this.#own.get(id)?.timer)
    this.#own.delete(id)
  }

  /** Gives up a request of the client itself; the server is told. */
  giveUp(id: RequestId): void {
    this.forget(id)
    this.#tellCancelled(id)
  }

  forgetOwn(): void {
    for (const id of [...this.#own.keys()]) this.forget(id)
  }

  get #isReady(): boolean {
    return this.#host.connection.phase === 'ready'
  }

  #nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  #count(what: 'junk' | 'late' | 'unknown' | 'repeated'): void {
    this.#host.holdings.counts[what] += 1
  }

  #mayLeave(job: Job): boolean {
    return this.#table.places < this.#host.settings.maxInFlight || !takesPlace(job)
  }

  #sendNext(): void {
    const { maxInFlight } = this.#host.settings
    while (this.#table.waiting > 0 && this.#table.places < maxInFlight && this.#isReady) {
      const next = this.#table.takeFirst()
      if (next !== undefined) this.#send(next)
    }
  }

  #send(pending: Pending): void {
    const { job, reply } = pending
    const { link, speech } = this.#host
    if (!job.wantsAnswer) {
      this.#table.settle(pending)
      link.send(writeNotification(job))
      return reply.resolve({})
    }
    const id = this.#nextId()
    pending.id = id
    job.dialect = speech.dialect
    this.#table.sent(pending)
    link.send(speech.write(id, job, job.call.headers), job.ticket)
  }

  /** Waits for the next connection, if the caller allows it. */
  #putBack(pending: Pending, reason: Error): void {
    if (mayWait(pending.job)) this.#table.putBack(pending)
    else this.#turnAway(pending, reason)
  }

  #turnAway(pending: Pending, reason: Error | undefined): void {
    pending.job.ticket.revoked = true
    this.#reject(pending, notReadyError(pending.job, reason, isSent(pending.job)))
  }

  #repeat(pending: Pending): void {
    this.#table.takeBack(pending)
    this.#noteRepeated(pending.job)
    this.#send(pending)
  }

  #noteRepeated(job: Job): void {
    job.repeated = true
    this.#count('repeated')
  }

  /** The server refuses our revision: a call that may still fit is repeated; else the era is asked anew. */
  #misfits(pending: Pending, { error }: JsonRpcErrorResponse): boolean {
    if (this.#host.speech.dialect.handshake) return false
    if (modernRevisionIn(error) && !pending.job.repeated) {
      this.#repeat(pending)
      return true
    }
    const refusal = serverError(error)
    this.#reject(pending, refusal)
    this.#host.misfit(refusal)
    return true
  }

  /** A busy server has said when it may be asked again; the client's budget bounds how often that is done. */
  #retriesLater(pending: Pending, error: TransportError): boolean {
    const { job } = pending
    const { retry } = job.call
    const { budget } = this.#host.holdings
    const isOurs = retry === undefined || retry === 'safe'
    const wait = isOurs ? budget?.waitFor(error, job.deadline, this.#world) : undefined
    if (wait === undefined) return false
    this.#table.takeBack(pending)
    this.#count('repeated')
    this.#world.setTimeout(() => {
      if (!this.#table.all.has(job) || pending.id !== undefined || this.#table.isWaiting(pending)) return
      this.#table.wait(pending)
      this.#sendNext()
    }, wait)
    return true
  }

  /** Progress restarts the timeout, up to `lastDeadline`. */
  #prolong(pending: Pending): void {
    const { job } = pending
    const { resetOnProgress, timeout } = job.call
    if (!resetOnProgress) return
    const now = this.#world.now()
    const left = Math.ceil(Math.min(timeout, job.lastDeadline - now))
    if (left <= 0) return
    this.#deadlines.disarm(pending)
    job.deadline = now + left
    if (left === timeout) this.#deadlines.arm(pending, left)
    else this.#deadlines.armRest(pending, left)
  }

  #expire(pending: Pending): void {
    const { job } = pending
    const reason = `no answer within ${job.call.timeout} ms`
    const error = job.ticket.sent
      ? callError('TIMEOUT', `${job.method}: ${reason}`, { sent: true })
      : unsentError(job, this.#obstacle(pending), isSent(job))
    this.#abandon(pending, error, reason)
    this.#sendNext()
  }

  #obstacle(pending: Pending): Obstacle {
    const { state } = this.#host.connection
    return this.#isReady && this.#table.isWaiting(pending) ? { ...state, busy: this.#table.places } : state
  }

  /** Revokes what did not leave; of the rest the server is told. */
  #abandon(pending: Pending, error: ClientError, reason: string): void {
    const { id } = pending
    const { ticket } = pending.job
    this.#reject(pending, error)
    if (!ticket.sent) ticket.revoked = true
    else if (id === undefined) return
    else if (asksForTask(pending.job, this.#host.speech)) this.#cancelTaskOf(id, pending.job.method)
    else this.#tellCancelled(id, this.#host.speech, reason)
  }

  /** A request that becomes a task is cancelled by the id of the task (2025-11-25, cancellation). */
  #cancelTaskOf(id: RequestId, method: string): void {
    const done = (outcome: OwnOutcome): void => {
      if (outcome.type !== 'answer' || !('result' in outcome.message)) return
      const { task } = outcome.message.result
      if (!isObject(task) || typeof task.taskId !== 'string') return
      this.ask({
        method: 'tasks/cancel',
        params: { taskId: task.taskId },
        timeout: orphanTime,
        done: () => {},
      })
    }
    const timer = this.#world.setTimeout(() => this.forget(id), orphanTime)
    this.#own.set(id, { request: { method, timeout: orphanTime, done }, timer })
  }

  #tellCancelled(requestId: RequestId, speech = this.#host.speech, reason?: string): void {
    const { link } = this.#host
    if (speech.cancels === 'close') return link.abort(requestId)
    const params = reason === undefined ? { requestId } : { requestId, reason }
    link.tell(buildNotification('notifications/cancelled', params))
  }

  #settleOwn(id: RequestId, outcome: OwnOutcome): boolean {
    const own = this.#own.get(id)
    if (own === undefined) return false
    this.forget(id)
    own.request.done(outcome)
    return true
  }

  #reject(pending: Pending, error: unknown): void {
    this.#table.settle(pending)
    pending.reply.reject(error)
  }
}

/** Ms in which the id of a task that nobody waits for may still come, and the task be cancelled. */
const orphanTime = 10_000

function asksForTask({ params }: Job, { dialect }: Speech): boolean {
  return dialect.handshake && params?.task !== undefined
}

/** Whether a call waits for a connection; one that may have been seen only if it may be repeated. */
function mayWait(job: Job): boolean {
  return job.call.wait || isSent(job)
}
