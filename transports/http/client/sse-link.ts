import { setMaxListeners } from 'node:events'
import type { Readable } from 'node:stream'
import { isRequest, type Message } from '../../../protocol/wire/jsonrpc.js'
import type { SseItem } from '../../../protocol/wire/sse.js'
import { lazy } from '../../../runtime/faults/load.js'
import { messageOf } from '../../../runtime/base/errors.js'
import { sendAuthorized } from './auth-send.js'
import type { Link, LinkEnd, LinkEvents, LinkScope, SendOptions } from '../../contract/contract.js'
import { TransportError } from '../../base/errors.js'
import { asFarAs, connectError, judge, shownUrl } from './errors.js'
import type { HttpSettings } from './options.js'
import { endingError, judgeStatus, refusedError } from './status.js'
import {
  type Departure,
  discard,
  type HttpDispatchers,
  type HttpRequest,
  type HttpResponse,
  judgeFailure,
  openDispatchers,
  readStart,
} from '../outgoing/dispatcher.js'
import { isEventStream } from './event-stream.js'
import { tellSkipped, sendable } from '../../contract/message-sizes.js'
import { isInitialized } from './initialized.js'

const loadDecoder = lazy('../../protocol/wire/sse.js', () => import('../../../protocol/wire/sse.js'))

/** One event stream of a server, and the posts that belong to it. */
export class SseLink implements Link {
  readonly #settings: HttpSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #dispatchers: Promise<HttpDispatchers>
  readonly #controller = new AbortController()
  #endpoint: URL | undefined
  #idleTimer: unknown
  #over = false

  constructor(settings: HttpSettings, events: LinkEvents, scope: LinkScope) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    setMaxListeners(0, this.#controller.signal) // one for each post under way
    // One connection for all posts, so that they arrive in the order they were sent in; each is acknowledged
    // at once.
    this.#dispatchers = openDispatchers(settings.url.origin, {
      ...settings,
      connections: 1,
      clock: scope.clock,
    })
    this.#dispatchers.catch(() => {}) // told where it is awaited
    scope.own(async () => {
      this.#over = true
      this.#controller.abort()
      await (await this.#dispatchers.catch(() => undefined))?.destroy()
    })
    void this.#follow()
  }

  send(text: string, message: Message, { headers }: SendOptions = {}): void {
    if (this.#over) return
    const body = sendable(text, message, this.#settings.maxMessageBytes, this.#events)
    if (body !== undefined) void this.#post(body, message, headers)
  }

  close(): void {
    this.#end({})
  }

  /** Reads the stream from its beginning to its end, which is that of the connection. Never rejects. */
  async #follow(): Promise<void> {
    const { clock } = this.#scope
    const { connectTimeout, url } = this.#settings
    const timer = clock.setTimeout(
      () => this.#end({ error: noEndpoint(url, connectTimeout) }),
      connectTimeout,
    )
    try {
      const response = await this.#open()
      if (response === undefined) return
      await this.#read(response.body, () => clock.clearTimeout(timer))
      this.#end({ error: lost('the server ended the event stream') })
    } catch (cause) {
      this.#failed(cause)
    } finally {
      clock.clearTimeout(timer)
      clock.clearTimeout(this.#idleTimer)
    }
  }

  async #open(): Promise<HttpResponse | undefined> {
    const { url, headers } = this.#settings
    const response = await this.#dispatch('sendApart', {
      method: 'GET',
      path: url.pathname + url.search,
      headers: { ...headers, accept: 'text/event-stream', 'cache-control': 'no-cache' },
      signal: this.#controller.signal,
    })
    if (isEventStream(response)) return response
    if (judgeStatus(response.status, false) === 'unauthorized') {
      discard(response, this.#scope.clock)
      this.#end({ error: endingError('unauthorized', url, response), fatal: true })
    } else if (response.status < 300) {
      discard(response, this.#scope.clock)
      const message = `${shownUrl(url)} does not answer with an event stream`
      this.#end({ error: new TransportError('BAD_RESPONSE', message), fatal: true })
    } else {
      const error = refusedError(this.#settings.url, response, await readStart(response, this.#scope.clock))
      this.#end({ error, fatal: !error.retryable })
    }
    return undefined
  }

  async #read(body: Readable, begun: () => void): Promise<void> {
    this.#restartIdleTimer()
    const { createEventDecoder } = await loadDecoder()
    const decoder = createEventDecoder({ maxMessageBytes: this.#settings.maxMessageBytes })
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      this.#restartIdleTimer()
      for (const item of decoder.push(chunk)) {
        if (this.#over) return
        this.#take(item, begun)
      }
      await this.#events.room()
    }
  }

  #take(item: SseItem, begun: () => void): void {
    if (item.type === 'retry') return
    if (item.type === 'too_long')
      return tellSkipped(item.error, this.#events, (text, message) => this.send(text, message))
    const { event = 'message', data } = item
    if (event === 'endpoint' && this.#endpoint === undefined) {
      this.#endpoint = this.#resolve(data)
      begun()
      this.#events.opened({ url: shownUrl(this.#settings.url) })
    } else if (event === 'message' && data !== '') this.#events.message(data)
  }

  /** Elsewhere our headers, and what we say, are nobody's business. */
  #resolve(endpoint: string): URL {
    const { url } = this.#settings
    const resolved = URL.canParse(endpoint, url.href) ? new URL(endpoint, url) : undefined
    if (resolved?.origin === url.origin) return resolved
    const message = `the endpoint to post to is not at ${url.origin}`
    throw new TransportError('BAD_RESPONSE', message, { data: { endpoint } })
  }

  /** Never rejects: what goes wrong is told. */
  async #post(body: string, message: Message, own: SendOptions['headers']): Promise<void> {
    const departure: Departure = { left: false, begun: false }
    try {
      const { pathname = '', search = '' } = this.#endpoint ?? {}
      const response = await this.#dispatch('send', {
        method: 'POST',
        path: pathname + search,
        headers: { ...this.#settings.headers, ...own, 'content-type': 'application/json' },
        body,
        signal: this.#controller.signal,
        departure,
      })
      await this.#taken(response, message)
    } catch (cause) {
      if (this.#over) return
      if (isInitialized(message)) this.#end({ error: wrap(cause) })
      else this.#lose(message, asFarAs(departure.left, this.#errorOf(cause, departure)))
    }
  }

  /**
   * A post that found nobody there is made again when there is somebody, as long as the event stream stays.
   */
  #errorOf(cause: unknown, { begun }: Departure): TransportError {
    return !begun && judge(cause) === 'unreachable' ? connectError(this.#settings.url, cause) : wrap(cause)
  }

  async #dispatch(how: 'send' | 'sendApart', request: HttpRequest): Promise<HttpResponse> {
    const dispatchers = await this.#dispatchers
    const { auth, url } = this.#settings
    if (auth === undefined) return dispatchers[how](request)
    const denied = (error: TransportError): void => this.#end({ error, fatal: true })
    const send = (one: HttpRequest) => dispatchers[how](one)
    return sendAuthorized({ auth, url, send, denied, clock: this.#scope.clock }, request)
  }

  async #taken(response: HttpResponse, message: Message): Promise<void> {
    const verdict = judgeStatus(response.status, true)
    if (verdict === 'fine') return discard(response, this.#scope.clock)
    if (verdict === 'refused' || verdict === 'session_doubtful') {
      return this.#lose(
        message,
        refusedError(this.#settings.url, response, await readStart(response, this.#scope.clock)),
      )
    }
    discard(response, this.#scope.clock)
    const error = endingError(verdict, this.#settings.url, response)
    if (verdict === 'session_gone') this.#lose(message, error)
    this.#end({ error, fatal: verdict === 'unauthorized' })
  }

  #lose(message: Message, error: TransportError): void {
    if (isRequest(message)) this.#events.lost(message.id, error)
    else this.#events.trouble(error)
  }

  #restartIdleTimer(): void {
    const { clock } = this.#scope
    const { streamIdleTimeout } = this.#settings
    clock.clearTimeout(this.#idleTimer)
    if (!Number.isFinite(streamIdleTimeout)) return
    const message = `nothing came for ${streamIdleTimeout} ms`
    this.#idleTimer = clock.setTimeout(() => this.#end({ error: lost(message) }), streamIdleTimeout)
  }

  #failed(cause: unknown): void {
    if (cause instanceof TransportError)
      return this.#end({ error: cause, fatal: cause.code === 'BAD_RESPONSE' })
    if (this.#endpoint !== undefined) return this.#end({ error: wrap(cause) })
    this.#end({ error: connectError(this.#settings.url, cause), fatal: judgeFailure(cause) === 'untrusted' })
  }

  #end(end: LinkEnd): void {
    if (this.#over) return
    this.#over = true
    this.#controller.abort()
    this.#events.closed(end)
  }
}

function noEndpoint(url: URL, timeout: number): TransportError {
  const message = `${shownUrl(url)} has not said within ${timeout} ms where to post messages`
  return new TransportError('CONNECT_FAILED', message, { retryable: true })
}

function wrap(cause: unknown): TransportError {
  return cause instanceof TransportError ? cause : lost(`the connection broke: ${textOf(cause)}`, cause)
}

function lost(message: string, cause?: unknown): TransportError {
  return new TransportError('CONNECTION_LOST', message, { cause, retryable: true })
}

/** An AggregateError (several addresses tried) has no message of its own. */
function textOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message
  return messageOf(cause)
}
