import { buildRequest, type Message, type RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../../runtime/time/clock.js'
import type { LinkEnd, LinkEvents, SendOptions } from '../../contract/contract.js'
import { notSent } from '../../contract/message-sizes.js'
import { TransportError } from '../../base/errors.js'
import { type Departure, discard, type HttpRequest, type HttpResponse } from '../outgoing/dispatcher.js'
import type { HttpCalls } from './calls.js'
import { endingError, isDenied, judgeStatus, notBegun, refusedError } from './errors.js'
import type { HttpClientSettings } from './options.js'

/** Milliseconds that a server may take to say whether it knows us. */
const checkTime = 10_000
/** Milliseconds that a server which has forgotten the session has to say so to all that it was sent. */
const refusalTime = 500
/** Milliseconds for the end of a session. */
const partingTime = 2_000

const accepted = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** What is posted: the message, and the headers that go with it alone. */
export interface Body {
  readonly text: string
  readonly headers: SendOptions['headers']
}

interface SessionPort {
  readonly settings: HttpClientSettings
  readonly calls: HttpCalls
  readonly events: LinkEvents
  readonly clock: Clock
  isOver(): boolean
  /** Sends a request that does not wait behind others; whoever is refused is not asked for other credentials. */
  send(request: HttpRequest): Promise<HttpResponse>
  end(end: LinkEnd): void
}

/** One session with a server: makes its requests, and knows by their refusals when it is over. */
export class HttpSession {
  readonly #port: SessionPort
  readonly #path: string
  #sessionId: string | undefined
  /** Where the session began, if a redirect led there. */
  #sessionOrigin: string | undefined
  /** The origin of the server, wherever a redirect led to: who gave the first answer. */
  #home: string | undefined
  #revision: string | undefined
  /** The headers of all requests, and of those that post: put together once. */
  #common: Readonly<Record<string, string>>
  #posting: Readonly<Record<string, string>>
  #isForgotten = false
  #checks = 0
  #checking: Promise<number | undefined> | undefined

  constructor(port: SessionPort) {
    const { headers, url } = port.settings
    this.#port = port
    this.#path = url.pathname + url.search
    this.#common = headers
    this.#posting = { ...headers, ...accepted }
  }

  /** Whether the server has forgotten the session: nothing more is sent in it. */
  get isForgotten(): boolean {
    return this.#isForgotten
  }

  /** The revision that requests name from now on; undefined before the handshake. */
  get revision(): string | undefined {
    return this.#revision
  }

  /** The server has agreed to a revision, which requests name from now on. */
  negotiated(revision: string): void {
    this.#revision = revision
    this.#compose()
  }

  /** An answer came; that to `initialize` may name the session. Throws BAD_RESPONSE. */
  answeredBy({ headers, origin }: HttpResponse, method: string): void {
    this.#home ??= origin
    const sessionId = headers['mcp-session-id']
    if (method !== 'initialize' || sessionId === undefined) return
    if (typeof sessionId !== 'string' || !/^[\x21-\x7e]+$/.test(sessionId)) {
      throw new TransportError('BAD_RESPONSE', 'Mcp-Session-Id: expected visible ASCII characters')
    }
    this.#sessionId = sessionId
    this.#sessionOrigin = origin
    this.#compose()
  }

  post({ text: body, headers: own }: Body, signal: AbortSignal, departure?: Departure): HttpRequest {
    const headers = own === undefined ? this.#posting : { ...this.#common, ...own, ...accepted }
    return this.#request('POST', headers, signal, body, departure)
  }

  /** Asks for an event stream, from the beginning or from where another one ended. */
  get(signal: AbortSignal, lastEventId: string | undefined, own: SendOptions['headers']): HttpRequest {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    return this.#request('GET', { ...this.#common, ...own, accept: 'text/event-stream', ...resume }, signal)
  }

  #request(
    method: HttpRequest['method'],
    headers: HttpRequest['headers'],
    signal: AbortSignal,
    body?: string,
    departure?: Departure,
  ): HttpRequest {
    return { method, path: this.#path, headers, body, signal, departure, sessionOrigin: this.#sessionOrigin }
  }

  #compose(): void {
    this.#common = {
      ...this.#port.settings.headers,
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#revision === undefined ? {} : { 'mcp-protocol-version': this.#revision }),
    }
    this.#posting = { ...this.#common, ...accepted }
  }

  /** Whether a refusal, maybe of the request with this id, ends the connection; then it is told. */
  async ends(response: HttpResponse, id?: RequestId): Promise<boolean> {
    const { clock, settings, isOver } = this.#port
    // another origin, which a redirect of this one request led to, knows nothing of our session
    if (this.#home !== undefined && response.origin !== this.#home) return false
    let verdict = judgeStatus(response.status, this.#sessionId !== undefined)
    if (verdict === 'session_doubtful' && !isOver() && !(await this.#isKnown())) verdict = 'session_gone'
    if (verdict !== 'session_gone' && verdict !== 'unauthorized') return false
    const error = endingError(verdict, settings, response)
    if (verdict === 'unauthorized' && !(await this.isShut(error))) return false
    discard(response, clock)
    if (verdict === 'session_gone') this.#forgotten(error, id)
    return true
  }

  /**
   * Whether a 401 means all requests, and not one of them, which the server may guard for itself: then the
   * connection ends for good. A server that has answered once is asked by a ping.
   */
  async isShut(error: TransportError): Promise<boolean> {
    const { isOver, end } = this.#port
    if (this.#home !== undefined && !isOver() && (await this.#pinged()) !== 401) return false
    end({ error, fatal: true })
    return true
  }

  /** The error for a request that was refused alone. */
  refusedBy(response: HttpResponse, body: string): TransportError {
    const { settings } = this.#port
    const isOurs = this.#home === undefined || response.origin === this.#home
    if (response.status === 401 && isOurs) return endingError('unauthorized', settings, response)
    return refusedError(settings.url, response, body)
  }

  /** All else that the server was sent will be refused in a moment: it did not act on that either. */
  #forgotten(error: TransportError, id: RequestId | undefined): void {
    const { calls, events, clock, isOver, end } = this.#port
    if (id !== undefined && !isOver()) events.lost(id, error)
    if (this.#isForgotten) return
    this.#isForgotten = true
    void calls.settled(refusalTime, clock).then(() => end({ error }))
  }

  /** A message of a session that the server has forgotten is not sent. */
  refuse(message: Message): void {
    notSent(message, notBegun(undefined), this.#port.events)
  }

  /**
   * What a 400 in a session means: many servers say it instead of 404 (specification: session management). A
   * ping cannot be bad: where it is refused, too, the session is gone. Concurrent askers share one ping.
   */
  async #isKnown(): Promise<boolean> {
    if (this.#isForgotten) return false
    const status = await this.#pinged()
    // nothing is known as long as nobody answers
    return status !== 400 && status !== 404
  }

  #pinged(): Promise<number | undefined> {
    this.#checking ??= this.#ping().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  #ping(): Promise<number | undefined> {
    this.#checks += 1
    const text = JSON.stringify(buildRequest(`session-check-${this.#checks}`, 'ping'))
    return this.#ask(checkTime, (signal) => this.post({ text, headers: undefined }, signal))
  }

  /** Tells the server that we are done, if there is a session; it may refuse (405). Never rejects. */
  async part(): Promise<void> {
    if (this.#sessionId !== undefined)
      await this.#ask(partingTime, (signal) => this.#request('DELETE', this.#common, signal))
  }

  /** The status that a request is answered with in so many ms; undefined when none came. */
  async #ask(ms: number, make: (signal: AbortSignal) => HttpRequest): Promise<number | undefined> {
    const { clock, send } = this.#port
    const controller = new AbortController()
    const timer = clock.setTimeout(() => controller.abort(), ms)
    try {
      const response = await send(make(controller.signal))
      discard(response, clock)
      return response.status
    } catch (cause) {
      // there are no credentials any more
      return isDenied(cause) ? 401 : undefined
    } finally {
      clock.clearTimeout(timer)
    }
  }
}
