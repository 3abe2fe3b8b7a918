import { setMaxListeners } from 'node:events'
import { buildNotification, type Message } from '../../../protocol/wire/jsonrpc.js'
import { TransportError } from '../../base/errors.js'
import type { Link, LinkEnd, LinkEvents, LinkScope, SendOptions } from '../../contract/contract.js'
import { notSent, sendable, tellSkipped } from '../../contract/message-sizes.js'
import {
  type Departure,
  discard,
  type HttpRequest,
  type HttpResponse,
  readStart,
} from '../outgoing/dispatcher.js'
import { isInitialized } from './calls.js'
import {
  asFarAs,
  brokenError,
  connectError,
  endingError,
  isDenied,
  judge,
  judgeStatus,
  lostError,
  refusedError,
  shownUrl,
} from './errors.js'
import { idleTimer, isEventStream, readEvents } from './event-stream.js'
import type { HttpClientSettings } from './options.js'
import { HttpSender } from './sender.js'

/** Milliseconds that a server may take to say whether it refuses all that it is sent. */
const checkTime = 10_000
/** Cancels a request that there never was. */
const nothing = JSON.stringify(buildNotification('notifications/cancelled', { requestId: 'session-check' }))

export class SseLink implements Link {
  readonly #settings: HttpClientSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #sender: HttpSender
  readonly #controller = new AbortController()
  #endpoint: URL | undefined
  #checking: Promise<boolean> | undefined
  #over = false

  constructor(settings: HttpClientSettings, events: LinkEvents, scope: LinkScope) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    setMaxListeners(0, this.#controller.signal) // one for each post under way
    // One connection for all posts keeps them in order; each is acknowledged at once.
    this.#sender = new HttpSender(
      { ...settings, limits: { ...settings.limits, connections: 1 } },
      scope,
      (error) => this.#end({ error, fatal: true }),
    )
    scope.own(() => {
      this.#over = true
      this.#controller.abort()
    })
    void this.#follow()
  }

  send(text: string, message: Message, { headers }: SendOptions = {}): void {
    if (this.#over) return
    const body = sendable(text, message, this.#settings.limits.messageBytes, this.#events)
    if (body !== undefined) void this.#post(body, message, headers)
  }

  close(): void {
    this.#end({})
  }

  /** Reads the stream from its beginning to its end, which is that of the connection. Never rejects. */
  async #follow(): Promise<void> {
    const { clock } = this.#scope
    const { connectTimeout, streamIdleTimeout: ms, limits, url } = this.#settings
    const late = `${shownUrl(url)} has not said within ${connectTimeout} ms where to post messages`
    const timer = clock.setTimeout(
      () => this.#end({ error: new TransportError('CONNECT_FAILED', late, { retryable: true }) }),
      connectTimeout,
    )
    const idle = idleTimer(ms, clock, () => this.#end({ error: lostError(`nothing came for ${ms} ms`) }))
    try {
      const response = await this.#open()
      if (response === undefined) return
      idle.restart()
      await readEvents(response.body, limits.messageBytes, {
        alive: () => idle.restart(),
        room: () => this.#events.room(),
        message: (text) => {
          if (!this.#over) this.#events.message(text)
        },
        skipped: (error) => tellSkipped(error, this.#events, (text, message) => this.send(text, message)),
        other: (event, data) => {
          if (event !== 'endpoint' || this.#endpoint !== undefined || this.#over) return
          this.#endpoint = this.#resolve(data)
          clock.clearTimeout(timer)
          this.#events.opened({ url: shownUrl(url) })
        },
      })
      this.#end({ error: lostError('the server ended the event stream') })
    } catch (cause) {
      this.#failed(cause)
    } finally {
      clock.clearTimeout(timer)
      idle.stop()
    }
  }

  async #open(): Promise<HttpResponse | undefined> {
    const { url, headers } = this.#settings
    const { clock } = this.#scope
    const response = await this.#sender.send('sendApart', {
      method: 'GET',
      path: url.pathname + url.search,
      headers: { ...headers, accept: 'text/event-stream', 'cache-control': 'no-cache' },
      signal: this.#controller.signal,
    })
    if (isEventStream(response)) return response
    if (response.status === 401) {
      discard(response, clock)
      this.#end({ error: endingError('unauthorized', this.#settings, response), fatal: true })
    } else if (response.status < 300) {
      discard(response, clock)
      const message = `${shownUrl(url)} does not answer with an event stream`
      this.#end({ error: new TransportError('BAD_RESPONSE', message), fatal: true })
    } else {
      const error = refusedError(url, response, await readStart(response, clock))
      this.#end({ error, fatal: !error.retryable })
    }
    return undefined
  }

  /** Another origin must not get our headers and messages. */
  #resolve(endpoint: string): URL {
    const { url } = this.#settings
    const resolved = URL.canParse(endpoint, url.href) ? new URL(endpoint, url) : undefined
    if (resolved?.origin === url.origin) return resolved
    const message = `the endpoint to post to is not at ${url.origin}`
    throw new TransportError('BAD_RESPONSE', message, { data: { endpoint } })
  }

  #posting(
    body: string,
    own?: SendOptions['headers'],
  ): Pick<HttpRequest, 'method' | 'path' | 'headers' | 'body'> {
    const { pathname = '', search = '' } = this.#endpoint ?? {}
    const headers = { ...this.#settings.headers, ...own, 'content-type': 'application/json' }
    return { method: 'POST', path: pathname + search, headers, body }
  }

  /** Never rejects: what goes wrong is told. */
  async #post(body: string, message: Message, own: SendOptions['headers']): Promise<void> {
    const departure: Departure = { left: false, begun: false }
    const { signal } = this.#controller
    try {
      const response = await this.#sender.send('send', { ...this.#posting(body, own), signal, departure })
      await this.#taken(response, message)
    } catch (cause) {
      if (this.#over) return
      if (isDenied(cause)) return await this.#denied(cause, message)
      if (isInitialized(message)) return this.#end({ error: brokenError(cause) })
      // a post that found nobody at the port can be made again while the event stream stays
      const isUnreached = !departure.begun && judge(cause) === 'unreachable'
      const error = isUnreached ? connectError(this.#settings.url, cause) : brokenError(cause)
      notSent(message, asFarAs(departure.left, error), this.#events)
    }
  }

  async #taken(response: HttpResponse, message: Message): Promise<void> {
    const { clock } = this.#scope
    const { url } = this.#settings
    const verdict = judgeStatus(response.status, true)
    if (verdict === 'fine') return discard(response, clock)
    if (verdict === 'refused' || verdict === 'session_doubtful') {
      const error = refusedError(url, response, await readStart(response, clock))
      if (error.retryable && isInitialized(message)) return this.#end({ error })
      return notSent(message, error, this.#events)
    }
    discard(response, clock)
    const error = endingError(verdict, this.#settings, response)
    if (verdict === 'unauthorized') return this.#denied(error, message)
    notSent(message, error, this.#events)
    this.#end({ error })
  }

  /** A 401 to a message may mean it alone, which the server guards for itself, or all of them. */
  async #denied(error: TransportError, message: Message): Promise<void> {
    const isGreeting = 'method' in message && message.method === 'initialize'
    if (isGreeting || (await this.#isShut())) return this.#end({ error, fatal: true })
    notSent(message, error, this.#events)
  }

  /** Whether a message that means nothing is refused, too. */
  #isShut(): Promise<boolean> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(): Promise<boolean> {
    const { clock } = this.#scope
    const controller = new AbortController()
    const timer = clock.setTimeout(() => controller.abort(), checkTime)
    try {
      const { signal } = controller
      const response = await this.#sender.probe({ ...this.#posting(nothing), signal })
      discard(response, clock)
      return response.status === 401
    } catch (cause) {
      return isDenied(cause)
    } finally {
      clock.clearTimeout(timer)
    }
  }

  #failed(cause: unknown): void {
    if (cause instanceof TransportError)
      return this.#end({
        error: cause,
        fatal: ['BAD_RESPONSE', 'INSUFFICIENT_SCOPE', 'UNAUTHORIZED'].includes(cause.code),
      })
    if (this.#endpoint !== undefined) return this.#end({ error: brokenError(cause) })
    this.#end({ error: connectError(this.#settings.url, cause), fatal: judge(cause) === 'untrusted' })
  }

  #end(end: LinkEnd): void {
    if (this.#over) return
    this.#over = true
    this.#controller.abort()
    this.#events.closed(end)
  }
}
