import {
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../../protocol/wire/jsonrpc.js'
import { sendAuthorized } from './auth-send.js'
import type { Link, LinkEnd, LinkEvents, LinkScope, SendOptions } from '../../contract/contract.js'
import type { Clock } from '../../../runtime/time/clock.js'
import { TransportError } from '../../base/errors.js'
import { HeldMessages } from './held-messages.js'
import { Absence } from './absence.js'
import { type AnswerPort, readAnswer, readJson } from './answer-stream.js'
import { asFarAs, brokenError, connectError, judge, noAnswerIn, notBegun, shownUrl } from './errors.js'
import type { HttpSettings } from './options.js'
import { answers, refusedError } from './status.js'
import { type HttpCall, HttpCalls } from './calls.js'
import {
  discard,
  type HttpDispatchers,
  type HttpRequest,
  type HttpResponse,
  openDispatchers,
  readStart,
} from '../outgoing/dispatcher.js'
import { followStream, mediaType } from './event-stream.js'
import { type Body, HttpRequests } from './requests.js'
import { SessionEnd } from './session-end.js'
import { sendable, tellSkipped } from '../../contract/message-sizes.js'
import { isInitialized } from './initialized.js'

/** What is known of a server from one connection to the next. */
export interface ServerHabits {
  /**
   * Whether it leaves the request for the stream unanswered until it has something to say there: then nothing
   * waits for that.
   */
  isSilent: boolean
}

/** Milliseconds for `initialized` to be acknowledged. */
const lingerTime = 2_000
/**
 * Milliseconds that requests wait for the stream for what belongs to no request, once the server is told to
 * begin.
 */
const streamTime = 1_000
/** Milliseconds that a server may take to acknowledge what is no request. */
const noticeTime = 10_000
/** How often the end of the handshake is said, when the way to the server is cut. */
const mostTries = 3

const listen = 'subscriptions/listen'

/** One session with a Streamable HTTP server, from `initialize` to its end. */
export class HttpLink implements Link {
  readonly #settings: HttpSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #habits: ServerHabits
  readonly #dispatchers: Promise<HttpDispatchers>
  #open: HttpDispatchers | undefined
  readonly #calls = new HttpCalls()
  /**
   * What waits until the server has taken `notifications/initialized`, which nothing may overtake, and has
   * opened the stream: what it asks in the course of a call may come there, and many servers keep nothing for
   * a stream that is yet to be opened.
   */
  readonly #held: HeldMessages
  readonly #session: SessionEnd
  readonly #requests: HttpRequests
  readonly #absence = new Absence()
  /** What is told of the messages in a stream. */
  readonly #told: Pick<AnswerPort, 'message' | 'skipped' | 'room'>
  #over = false

  constructor(settings: HttpSettings, events: LinkEvents, scope: LinkScope, habits: ServerHabits) {
    this.#settings = settings
    this.#habits = habits
    this.#events = events
    this.#told = {
      message: (text) => events.message(text),
      skipped: (error) => tellSkipped(error, events, (text, message) => this.send(text, message)),
      room: () => events.room(),
    }
    this.#scope = scope
    this.#held = new HeldMessages(scope.clock)
    this.#requests = new HttpRequests(settings)
    this.#session = new SessionEnd({
      calls: this.#calls,
      requests: this.#requests,
      url: settings.url,
      events,
      clock: scope.clock,
      send: (request) => this.#dispatch('sendApart', request),
      end: (end) => this.#end(end),
    })
    this.#dispatchers = openDispatchers(settings.url.origin, { ...settings, clock: scope.clock })
    this.#dispatchers.then(
      (dispatchers) => {
        this.#open = dispatchers
      },
      () => {}, // told where it is awaited
    )
    scope.own(async () => {
      this.#over = true
      await (await this.#dispatchers.catch(() => undefined))?.destroy()
    })
    events.opened({ url: shownUrl(settings.url) })
  }

  send(text: string, message: Message, { headers }: SendOptions = {}): void {
    if (this.#over) return
    if (this.#session.isForgotten) return this.#session.refuse(message)
    const body = sendable(text, message, this.#settings.maxMessageBytes, this.#events)
    if (body === undefined) return
    this.#held.pass(message, () => void this.#exchange({ text: body, headers }, message))
    if (isInitialized(message)) this.#held.hold(lingerTime)
  }

  abort(id: RequestId): void {
    this.#calls.abort(id)
  }

  negotiated(revision: string): void {
    this.#requests.negotiated(revision)
  }

  close(): void {
    if (this.#over) return
    void this.#session.part().then(() => this.#end({}))
  }

  /** One message and what comes back for it. Never rejects: what goes wrong is told. */
  async #exchange(body: Body, message: Message, tries = 1): Promise<void> {
    const request = isRequest(message) ? message : undefined
    const controller = new AbortController()
    // A request has the deadline of its caller; nobody waits for the rest.
    const timer =
      request === undefined ? this.#scope.clock.setTimeout(() => controller.abort(), noticeTime) : undefined
    const call = request === undefined ? undefined : this.#calls.begin(request, controller)
    try {
      const response = await this.#post(body, call, controller)
      if (response.status < 300) this.#absence.over()
      if (call === undefined) await this.#taken(response)
      else {
        this.#calls.answered(call)
        await this.#answer(response, call, body.headers)
      }
    } catch (cause) {
      // one that is only not acknowledged in time was taken, as far as anybody knows
      const isVital = isInitialized(message) && !controller.signal.aborted
      if (isVital && tries < mostTries && !this.#over) return void this.#exchange(body, message, tries + 1)
      this.#failed(cause, call, isVital)
    } finally {
      this.#scope.clock.clearTimeout(timer)
      if (call !== undefined) this.#calls.end(call)
    }
    this.#after(message)
  }

  #post(body: Body, call: HttpCall | undefined, controller: AbortController): Promise<HttpResponse> {
    const post = this.#requests.post(body, controller.signal, call)
    // a stream that stays open must not take one of the connections for requests
    const isBrief = call !== undefined && call.request.method !== listen
    const response = this.#dispatch(isBrief ? 'send' : 'sendApart', post)
    if (call === undefined) return response
    return inTime(response, this.#settings.headersTimeout, this.#scope.clock, controller)
  }

  /** The response to what is no request: it has nothing to tell but whether the server took it. */
  async #taken(response: HttpResponse): Promise<void> {
    if (response.status < 300) return discard(response, this.#scope.clock)
    if (await this.#session.ends(response)) return
    const body = await readStart(response, this.#scope.clock)
    this.#events.trouble(refusedError(this.#settings.url, response, body))
  }

  async #answer(
    response: HttpResponse,
    { request, controller }: HttpCall,
    headers: SendOptions['headers'],
  ): Promise<void> {
    const { id, method } = request
    if (response.status < 200 || response.status >= 300) {
      if (await this.#session.ends(response, id)) return
      const body = await readStart(response, this.#scope.clock)
      if (answers(body, { id, method, status: response.status })) return this.#events.message(body)
      return this.#events.lost(id, refusedError(this.#settings.url, response, body))
    }
    this.#requests.answeredBy(response.origin)
    if (method === 'initialize') this.#requests.begin(response)
    const type = mediaType(response.headers)
    if (type === 'text/event-stream') await this.#readStream(response, { id, method }, controller, headers)
    else if (type !== 'application/json') discard(response, this.#scope.clock)
    else this.#events.message(await readJson(response, this.#settings, this.#scope))
    // Whoever got an answer does not care about this any more; anybody else has to know that none will come.
    this.#events.lost(id, noAnswerIn(this.#settings.url, type))
  }

  async #readStream(
    response: HttpResponse,
    { id, method }: Pick<JsonRpcRequest, 'id' | 'method'>,
    controller: AbortController,
    headers: SendOptions['headers'],
  ): Promise<void> {
    const { streamIdleTimeout, idleTimeout, maxMessageBytes } = this.#settings
    const request = {
      id,
      controller,
      resumable: this.#requests.revision !== undefined || method === 'initialize',
      maxBytes: maxMessageBytes,
      idleTimeout: method === listen ? streamIdleTimeout : idleTimeout,
    }
    const port = {
      resume: (lastEventId: string) => this.#resume(lastEventId, controller, headers),
      absence: () => this.#absence.signal,
      refused: (refusal: HttpResponse) => this.#session.ends(refusal),
      ...this.#told,
    }
    await readAnswer(response, request, port, this.#scope)
  }

  #failed(cause: unknown, call: HttpCall | undefined, isVital: boolean): void {
    if (this.#over) return
    this.#absence.note(cause)
    // a connection that has taken the request can only break, whatever the error is called
    const judged = judge(cause)
    const kind = call?.begun === true && judged === 'unreachable' ? 'broken' : judged
    const error = kind === 'broken' ? brokenError(cause) : connectError(this.#settings.url, cause)
    if (kind === 'untrusted') this.#end({ error, fatal: true })
    else if (isVital) this.#end({ error })
    else if (call === undefined) this.#events.trouble(error)
    else if (kind === 'unreachable' && call.request.method === 'initialize') this.#end({ error })
    else this.#events.lost(call.request.id, asFarAs(call.left, error))
  }

  /** After a notification has been taken: what waited for it may go, and what it cancelled is given up. */
  #after(message: Message): void {
    if (isInitialized(message)) {
      if (!this.#settings.stream || this.#over) return this.#held.release()
      this.#held.hold(streamTime, () => {
        this.#habits.isSilent = true
      })
      void this.#follow()
      if (this.#habits.isSilent) this.#held.release()
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#calls.abort(message.params?.requestId as RequestId)
    }
  }

  #follow(): Promise<void> {
    const { clock } = this.#scope
    const port = {
      open: (signal: AbortSignal, lastEventId: string | undefined) => {
        const asked = clock.now()
        return this.#openStream(signal, lastEventId).finally(() => {
          this.#habits.isSilent = clock.now() - asked >= streamTime
          this.#held.release()
        })
      },
      refused: (response: HttpResponse) => this.#session.ends(response),
      presence: () => this.#absence.end,
      trouble: (error: TransportError) => this.#events.trouble(error),
      ...this.#told,
    }
    const { streamIdleTimeout, maxMessageBytes } = this.#settings
    return followStream(port, this.#scope, { idleTimeout: streamIdleTimeout, maxBytes: maxMessageBytes })
  }

  /** The rest of an answer. */
  #resume(lastId: string, controller: AbortController, own: SendOptions['headers']): Promise<HttpResponse> {
    const response = this.#openStream(controller.signal, lastId, own)
    return inTime(response, this.#settings.headersTimeout, this.#scope.clock, controller)
  }

  /** A GET for an event stream, from the beginning or from where another one ended. */
  #openStream(
    signal: AbortSignal,
    lastEventId: string | undefined,
    own?: SendOptions['headers'],
  ): Promise<HttpResponse> {
    const response = this.#dispatch('sendApart', this.#requests.get(signal, lastEventId, own))
    response.catch((cause: unknown) => this.#absence.note(cause))
    return response
  }

  #dispatch(how: 'send' | 'sendApart', request: HttpRequest): Promise<HttpResponse> {
    if (this.#open !== undefined) return this.#sendOn(this.#open, how, request)
    return this.#dispatchers.then((dispatchers) => this.#sendOn(dispatchers, how, request))
  }

  #sendOn(
    dispatchers: HttpDispatchers,
    how: 'send' | 'sendApart',
    request: HttpRequest,
  ): Promise<HttpResponse> {
    const { auth, url } = this.#settings
    if (auth === undefined) return dispatchers[how](request)
    const send = (one: HttpRequest) => dispatchers[how](one)
    const denied = (error: TransportError): void => this.#end({ error, fatal: true })
    return sendAuthorized({ auth, url, send, denied, clock: this.#scope.clock }, request)
  }

  #end(end: LinkEnd): void {
    if (this.#over) return
    this.#over = true
    this.#session.over()
    for (const message of this.#held.drop())
      if (isRequest(message)) this.#events.lost(message.id, notBegun(end.error))
    for (const { request } of this.#calls.takeUnsent()) this.#events.lost(request.id, notBegun(end.error))
    this.#events.closed(end)
  }
}

/**
 * Aborts a request whose response has not begun after `ms`; Infinity: never. The error is retryable, and says
 * which option it was.
 */
function inTime<T>(response: Promise<T>, ms: number, clock: Clock, controller: AbortController): Promise<T> {
  if (!Number.isFinite(ms)) return response
  const message = `the response has not begun within ${ms} ms (headersTimeout)`
  const late = (): void =>
    controller.abort(new TransportError('CONNECTION_LOST', message, { retryable: true }))
  const timer = clock.setTimeout(late, ms)
  return response.finally(() => clock.clearTimeout(timer))
}
