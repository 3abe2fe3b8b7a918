import type { ProtocolError } from '../../protocol/wire/errors.js'
import {
  buildNotification,
  type JsonRpcErrorResponse,
  type JsonRpcResult,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { TransportError } from '../../transports/base/errors.js'
import type { ClientLink } from './client-link.js'
import type { Asked, Speech } from './speech.js'

/** What came of a request that nobody but the client itself waits for. */
export type OwnOutcome =
  | { readonly type: 'answer'; readonly message: JsonRpcResult | JsonRpcErrorResponse }
  /** What came with its id is no answer. */
  | { readonly type: 'junk'; readonly error: ProtocolError }
  | { readonly type: 'lost'; readonly error: TransportError }
  | { readonly type: 'timeout' }

/** One of these requests on its way. */
export interface OwnRequest extends Omit<Asked, 'paramsText'> {
  readonly id: RequestId
  /** Milliseconds until it has come to nothing; Infinity for one that stays open. */
  readonly timeout: number
  /** Whether a server that did not answer in time is told that nobody waits any more. Default true. */
  readonly cancels?: boolean
  done(outcome: OwnOutcome): void
}

interface Waiting {
  readonly request: OwnRequest
  readonly timer: unknown
}

/**
 * The requests of a client that no user made: for a sign of life, for what it wishes of a session, for a
 * stream of changes.
 */
export class OwnRequests {
  readonly #link: ClientLink
  readonly #clock: Clock
  readonly #waiting = new Map<RequestId, Waiting>()

  constructor(link: ClientLink, clock: Clock) {
    this.#link = link
    this.#clock = clock
  }

  /** Sends one; `done` is called once, unless the connection ends before. */
  send(speech: Speech, request: OwnRequest): void {
    const { id, method, params, timeout } = request
    const paramsText = params === undefined ? undefined : JSON.stringify(params)
    const timer = Number.isFinite(timeout)
      ? this.#clock.setTimeout(() => this.#expire(request, speech), timeout)
      : undefined
    this.#waiting.set(id, { request, timer })
    const { text, message, options } = speech.write(id, { method, params, paramsText })
    this.#link.send(text, message, { options })
  }

  /** Whether an answer was one to a request of this kind. */
  answered(message: JsonRpcResult | JsonRpcErrorResponse): boolean {
    return message.id !== undefined && this.#settle(message.id, { type: 'answer', message })
  }

  /** The same for what should have been an answer. */
  answeredBadly(id: RequestId, error: ProtocolError): boolean {
    return this.#settle(id, { type: 'junk', error })
  }

  /** The same for a request that will get none. */
  lost(id: RequestId, error: TransportError): boolean {
    return this.#settle(id, { type: 'lost', error })
  }

  /** Nobody waits for this one any more. */
  forget(id: RequestId): void {
    this.#clock.clearTimeout(this.#waiting.get(id)?.timer)
    this.#waiting.delete(id)
  }

  /** The connection is over: there is nothing to wait for. */
  clear(): void {
    for (const id of [...this.#waiting.keys()]) this.forget(id)
  }

  #expire({ id, cancels = true }: OwnRequest, speech: Speech): void {
    this.#settle(id, { type: 'timeout' })
    if (speech.cancels === 'close') this.#link.abort(id)
    else if (cancels) this.#link.tell(buildNotification('notifications/cancelled', { requestId: id }))
  }

  #settle(id: RequestId, outcome: OwnOutcome): boolean {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return false
    this.forget(id)
    waiting.request.done(outcome)
    return true
  }
}
