import { isRequest, type Message, type RequestId } from '../../../protocol/wire/jsonrpc.js'
import { lastingWorld } from '../../../runtime/process/context.js'
import { Rota } from '../../../runtime/tasks/rota.js'
import type { Clock } from '../../../runtime/time/clock.js'
import { pause } from '../../../runtime/time/wait.js'
import type { Link, LinkEnd, LinkEvents, LinkScope, SendOptions } from '../../contract/contract.js'
import { sendable, tellSkipped } from '../../contract/message-sizes.js'
import type { TransportError } from '../../base/errors.js'
import { discard, type HttpResponse, readStart } from '../outgoing/dispatcher.js'
import type { AnswerBudget } from './answer-budget.js'
import { type AnswerPort, readAnswer, readJson } from './answer-stream.js'
import { HeldMessages, type HttpCall, HttpCalls, isAwaited, isInitialized } from './calls.js'
import {
  answers,
  asFarAs,
  brokenError,
  connectError,
  isDenied,
  judge,
  lostError,
  noAnswerIn,
  notBegun,
  refusedError,
  shownUrl,
} from './errors.js'
import { followStream, mediaType } from './event-stream.js'
import type { HttpClientSettings } from './options.js'
import { Presence } from './pace.js'
import { HttpSender } from './sender.js'
import { type Body, HttpSession } from './session.js'

/** What is known of a server, and held for it, from one connection to the next. */
export interface ServerHabits {
  /** Whether it answers the request for the stream only when it has news: then nothing waits for that. */
  isSilent: boolean
  /** What answers that are still coming hold. */
  readonly budget: AnswerBudget
}

/** Milliseconds for `initialized` to be acknowledged. */
const lingerTime = 2_000
/** Milliseconds that requests wait for the stream of news, after `initialized`. */
const streamTime = 1_000
/** Milliseconds that a server may take to acknowledge what is no request. */
const noticeTime = 10_000
/** How often `initialized`, or an answer to the server, is sent when the way is cut; and where it is busy. */
const mostTries = 3
const mostBusyTries = 6
/** Milliseconds until it is sent again to a server that is busy, doubled each time. */
const busyTime = 250

const listen = 'subscriptions/listen'
const discover = 'server/discover'

/** One session with a Streamable HTTP server, from `initialize` to its end. */
export class HttpLink implements Link {
  readonly #settings: HttpClientSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #habits: ServerHabits
  readonly #sender: HttpSender
  readonly #calls = new HttpCalls()
  /**
   * Holds messages until `notifications/initialized` is taken and the stream is open: many servers ask there
   * in the course of a call, and keep nothing for a stream that is not open.
   */
  readonly #held: HeldMessages
  readonly #session: HttpSession
  readonly #presence = new Presence()
  /** Of long answers that come at the same time, few are read in a turn. */
  readonly #rota: Rota
  readonly #told: Pick<AnswerPort, 'message' | 'skipped' | 'room' | 'budget'>
  #over = false

  constructor(settings: HttpClientSettings, events: LinkEvents, scope: LinkScope, habits: ServerHabits) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    this.#habits = habits
    this.#rota = new Rota(lastingWorld(scope.world))
    this.#told = {
      message: (text) => events.message(text),
      skipped: (error) => tellSkipped(error, events, (text, message) => this.send(text, message)),
      room: () => events.room(),
      budget: habits.budget,
    }
    this.#held = new HeldMessages(scope.clock)
    this.#sender = new HttpSender(settings, scope, (error) => this.#end({ error, fatal: true }))
    this.#session = new HttpSession({
      settings,
      calls: this.#calls,
      events,
      clock: scope.clock,
      isOver: () => this.#over,
      send: (request) => this.#sender.probe(request),
      end: (end) => this.#end(end),
    })
    scope.own(() => {
      this.#over = true
    })
    events.opened({ url: shownUrl(settings.url) })
  }

  send(text: string, message: Message, { headers }: SendOptions = {}): void {
    if (this.#over) return
    if (this.#session.isForgotten) return this.#session.refuse(message)
    const body = sendable(text, message, this.#settings.limits.messageBytes, this.#events)
    if (body === undefined) return
    this.#held.pass(message, () => void this.#exchange({ text: body, headers }, message))
    if (isInitialized(message)) this.#held.hold(lingerTime)
  }

  abort(id: RequestId): void {
    this.#calls.abort(id)
  }

  negotiated(revision: string): void {
    this.#session.negotiated(revision)
  }

  close(): void {
    if (this.#over) return
    void this.#session.part().then(() => this.#end({}))
  }

  /** One message and what comes back for it. Never rejects: what goes wrong is told. */
  async #exchange(body: Body, message: Message, tries = 1): Promise<void> {
    const { clock } = this.#scope
    const controller = new AbortController()
    const call = isRequest(message) ? this.#calls.begin(message, controller) : undefined
    // A request has the deadline of its caller; nobody waits for the rest.
    const timer = call === undefined ? clock.setTimeout(() => controller.abort(), noticeTime) : undefined
    const isKept = call === undefined && isAwaited(message)
    let isRefused = false
    try {
      const response = await this.#post(body, call, controller)
      if (response.status < 300) this.#presence.answered()
      if (call === undefined)
        isRefused = await this.#isRefused(response, message, isKept && tries < mostBusyTries)
      else {
        this.#calls.answered(call)
        await this.#answer(response, call, body.headers)
      }
    } catch (cause) {
      // one that is not acknowledged in time may have been taken
      const isCut = !controller.signal.aborted
      if (isKept && tries < mostTries && isCut && !this.#over)
        return void this.#exchange(body, message, tries + 1)
      await this.#failed(cause, call, isInitialized(message) && isCut)
    } finally {
      clock.clearTimeout(timer)
      if (call !== undefined) this.#calls.end(call)
    }
    if (!isRefused) return this.#after(message)
    await pause(busyTime * 2 ** (tries - 1), clock, this.#scope.signal)
    if (!this.#over) void this.#exchange(body, message, tries + 1)
  }

  #post(body: Body, call: HttpCall | undefined, controller: AbortController): Promise<HttpResponse> {
    const post = this.#session.post(body, controller.signal, call)
    // a stream that stays open must not take one of the connections for requests
    const isBrief = call !== undefined && call.request.method !== listen
    const response = this.#sender.send(isBrief ? 'send' : 'sendApart', post)
    if (call === undefined) return response
    return inTime(response, this.#settings.headersTimeout, this.#scope.clock, controller)
  }

  /** The response to what is no request only says whether the server took it. True: to be sent again. */
  async #isRefused(response: HttpResponse, message: Message, mayRepeat: boolean): Promise<boolean> {
    if (response.status < 300) {
      discard(response, this.#scope.clock)
      return false
    }
    if (await this.#session.ends(response)) return false
    const error = refusedError(this.#settings.url, response, await readStart(response, this.#scope.clock))
    // the server tells a session nothing that it has not heard this from
    if (error.retryable && !mayRepeat && isInitialized(message)) this.#end({ error })
    else this.#events.trouble(error)
    return error.retryable && mayRepeat
  }

  async #answer(response: HttpResponse, call: HttpCall, headers: SendOptions['headers']): Promise<void> {
    const { id, method } = call.request
    const { status } = response
    if (status < 200 || status >= 300) {
      if (await this.#session.ends(response, id)) return
      const body = await readStart(response, this.#scope.clock)
      if (answers(body, { id, method, status })) return this.#events.message(body)
      return this.#events.lost(id, this.#session.refusedBy(response, body))
    }
    this.#session.answeredBy(response, method)
    const type = mediaType(response.headers)
    if (type === 'text/event-stream') await this.#readStream(response, call, headers)
    else if (type !== 'application/json') discard(response, this.#scope.clock)
    else {
      // those of about the same length take turns with longer and shorter ones
      const turn = (bytes: number): Promise<void> => this.#rota.next(String(Math.clz32(bytes)))
      const keep = { scope: this.#scope, budget: this.#habits.budget, turn }
      this.#events.message(await readJson(response, this.#settings, keep))
    }
    // Ignored after an answer; otherwise the caller learns that none will come.
    this.#events.lost(id, noAnswerIn(this.#settings.url, type))
  }

  async #readStream(
    response: HttpResponse,
    { request: { id, method }, controller }: HttpCall,
    headers: SendOptions['headers'],
  ): Promise<void> {
    const { streamIdleTimeout, idleTimeout, headersTimeout, limits } = this.#settings
    const request = {
      id,
      controller,
      resumable: this.#session.revision !== undefined || method === 'initialize',
      maxBytes: limits.messageBytes,
      idleTimeout: method === listen ? streamIdleTimeout : idleTimeout,
    }
    const port = {
      resume: (lastEventId: string) => {
        const rest = this.#openStream(controller.signal, lastEventId, headers)
        return inTime(rest, headersTimeout, this.#scope.clock, controller)
      },
      absence: () => this.#presence.absence,
      refused: (refusal: HttpResponse) => this.#session.ends(refusal),
      ...this.#told,
    }
    await readAnswer(response, request, port, this.#scope)
  }

  async #failed(cause: unknown, call: HttpCall | undefined, isVital: boolean): Promise<void> {
    if (this.#over || (isDenied(cause) && (await this.#session.isShut(cause)))) return
    this.#presence.failed(cause)
    // a connection that has taken the request can only break, whatever the error is called
    const judged = judge(cause)
    const kind = call?.begun === true && judged === 'unreachable' ? 'broken' : judged
    const error = kind === 'broken' ? brokenError(cause) : connectError(this.#settings.url, cause)
    const isGreeting = isVital || call?.request.method === 'initialize' || call?.request.method === discover
    // each new connection would ask somebody to sign in
    const isRefused = isGreeting && error.code === 'INSUFFICIENT_SCOPE'
    if (kind === 'untrusted' || isRefused) this.#end({ error, fatal: true })
    else if (isVital) this.#end({ error })
    else if (call === undefined) this.#events.trouble(error)
    else if (kind === 'unreachable' && call.request.method === 'initialize') this.#end({ error })
    else this.#events.lost(call.request.id, asFarAs(call.left, error))
  }

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
      presence: () => this.#presence.answer,
      trouble: (error: TransportError) => this.#events.trouble(error),
      missed: () => this.#events.missed(),
      ...this.#told,
    }
    const { streamIdleTimeout, limits } = this.#settings
    return followStream(port, this.#scope, { idleTimeout: streamIdleTimeout, maxBytes: limits.messageBytes })
  }

  /** A GET for an event stream, from the beginning or from where another one ended. */
  #openStream(
    signal: AbortSignal,
    lastEventId: string | undefined,
    headers?: SendOptions['headers'],
  ): Promise<HttpResponse> {
    const response = this.#sender.send('sendApart', this.#session.get(signal, lastEventId, headers))
    response.catch((cause: unknown) => {
      this.#presence.failed(cause)
      if (isDenied(cause)) void this.#session.isShut(cause)
    })
    return response
  }

  #end(end: LinkEnd): void {
    if (this.#over) return
    this.#over = true
    for (const message of this.#held.drop())
      if (isRequest(message)) this.#events.lost(message.id, notBegun(end.error))
    for (const { request } of this.#calls.takeUnsent()) this.#events.lost(request.id, notBegun(end.error))
    this.#events.closed(end)
  }
}

/** Aborts a request whose response has not begun after `ms`; Infinity: never. */
function inTime<T>(response: Promise<T>, ms: number, clock: Clock, controller: AbortController): Promise<T> {
  if (!Number.isFinite(ms)) return response
  const message = `the response has not begun within ${ms} ms (headersTimeout)`
  const timer = clock.setTimeout(() => controller.abort(lostError(message)), ms)
  return response.finally(() => clock.clearTimeout(timer))
}
