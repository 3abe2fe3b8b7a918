import { isRequest, type JsonRpcRequest, type Message, type RequestId } from '../protocol/jsonrpc.js'
import { messageOf } from '../runtime/errors.js'
import type { Link, LinkEvents, LinkScope } from './contract.js'
import { TransportError } from './errors.js'
import type { HttpSettings } from './http-client-options.js'
import { answers, endingError, judgeStatus, refusedError } from './http-client-status.js'
import {
  discard,
  type HttpDispatchers,
  type HttpResponse,
  judgeFailure,
  openDispatchers,
  readText,
} from './http-dispatcher.js'
import { followStream, isEventStream, mediaType, readEvents } from './http-event-stream.js'

/** Bytes of a refusal that are read to say why. */
const refusalBytes = 64 * 1024
/** Milliseconds for a response to end after its answer, for the end of a session, and for `initialized` to be acknowledged. */
const lingerTime = 2_000
/** Milliseconds that a server may take to acknowledge what is no request. */
const noticeTime = 10_000

/** One session with a Streamable HTTP server, from `initialize` to its end. */
export class HttpLink implements Link {
  readonly #settings: HttpSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #dispatchers: Promise<HttpDispatchers>
  readonly #exchanges = new Map<RequestId, AbortController>()
  /** Messages that wait until the server has taken `notifications/initialized`: nothing may overtake it. */
  #held: (() => void)[] | undefined
  #sessionId: string | undefined
  #revision: string | undefined
  #over = false

  constructor(settings: HttpSettings, events: LinkEvents, scope: LinkScope) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    this.#dispatchers = openDispatchers(settings.url.origin, settings)
    this.#dispatchers.catch(() => {}) // told where it is awaited
    scope.own(async () => {
      this.#over = true
      await (await this.#dispatchers).destroy()
    })
    events.opened({ url: settings.url.href })
  }

  send(text: string, message: Message): void {
    if (this.#over) return
    const go = (): void => void this.#exchange(text, message)
    if (this.#held !== undefined) {
      this.#held.push(go)
      return
    }
    if (isInitialized(message)) this.#hold()
    go()
  }

  negotiated(revision: string): void {
    this.#revision = revision
  }

  close(): void {
    if (this.#over) return
    void this.#endSession().then(() => this.#end({}))
  }

  /** One message and what comes back for it. Never rejects: what goes wrong is told. */
  async #exchange(text: string, message: Message): Promise<void> {
    const request = isRequest(message) ? message : undefined
    const controller = new AbortController()
    // A request has the deadline of its caller; nobody waits for the rest.
    const timer =
      request === undefined ? this.#scope.clock.setTimeout(() => controller.abort(), noticeTime) : undefined
    if (request !== undefined) this.#exchanges.set(request.id, controller)
    try {
      const response = await this.#post(text, request !== undefined, controller.signal)
      if (request === undefined) await this.#taken(response)
      else await this.#answer(response, request, controller)
    } catch (cause) {
      this.#failed(cause, request)
    } finally {
      this.#scope.clock.clearTimeout(timer)
      if (request !== undefined) this.#exchanges.delete(request.id)
      else this.#after(message)
    }
  }

  async #post(body: string, isCall: boolean, signal: AbortSignal): Promise<HttpResponse> {
    const dispatchers = await this.#dispatchers
    const headers = {
      ...this.#headers(),
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    }
    const request = { method: 'POST', path: this.#path(), headers, body, signal } as const
    return isCall ? dispatchers.send(request) : dispatchers.sendApart(request)
  }

  /** The response to what is no request: it has nothing to tell but whether the server took it. */
  async #taken(response: HttpResponse): Promise<void> {
    if (this.#ends(response)) return
    if (response.status < 300) return discard(response.body)
    this.#events.trouble(refusedError(response, await readText(response.body, refusalBytes)))
  }

  async #answer(
    response: HttpResponse,
    { id, method }: JsonRpcRequest,
    controller: AbortController,
  ): Promise<void> {
    if (this.#ends(response)) return
    if (response.status < 200 || response.status >= 300) {
      const body = await readText(response.body, refusalBytes)
      if (answers(body, id)) this.#events.message(body)
      else this.#events.lost(id, refusedError(response, body))
      return
    }
    if (method === 'initialize') this.#begin(response)
    if (isEventStream(response)) await this.#readStream(response, id, controller)
    else if (mediaType(response.headers) === 'application/json') {
      this.#events.message(await readText(response.body, this.#settings.maxMessageBytes))
    } else discard(response.body)
    // Whoever got an answer does not care about this any more; anybody else has to know that none will come.
    this.#events.lost(id, noAnswer)
  }

  async #readStream(response: HttpResponse, id: RequestId, controller: AbortController): Promise<void> {
    const { clock } = this.#scope
    const marks = [`"id":${JSON.stringify(id)}`, `"id": ${JSON.stringify(id)}`]
    let timer: unknown
    const message = (text: string): void => {
      this.#events.message(text)
      const answered = !text.includes('"method"') && marks.some((mark) => text.includes(mark))
      // The server should end the stream now; if it does not, the connection is taken back.
      if (answered) timer ??= clock.setTimeout(() => controller.abort(), lingerTime)
    }
    try {
      await readEvents(response.body, this.#settings.maxMessageBytes, { message })
    } finally {
      clock.clearTimeout(timer)
    }
  }

  /** The answer to `initialize` may name the session, which every request after it has to name, too. */
  #begin({ headers }: HttpResponse): void {
    const sessionId = headers['mcp-session-id']
    if (sessionId === undefined) return
    if (typeof sessionId !== 'string' || !/^[\x21-\x7e]+$/.test(sessionId)) {
      throw new TransportError('BAD_RESPONSE', 'Mcp-Session-Id: expected visible ASCII characters')
    }
    this.#sessionId = sessionId
  }

  #failed(cause: unknown, request: JsonRpcRequest | undefined): void {
    if (this.#over) return
    const kind = judge(cause)
    const error = kind === 'broken' ? brokenError(cause) : connectError(this.#settings.url, cause)
    if (kind === 'untrusted') this.#end({ error, fatal: true })
    else if (request === undefined) this.#events.trouble(error)
    else if (kind === 'unreachable' && request.method === 'initialize') this.#end({ error })
    else this.#events.lost(request.id, error)
  }

  /** After a notification has been taken: what waited for it may go, and what it cancelled is given up. */
  #after(message: Message): void {
    if (isInitialized(message)) {
      this.#release()
      if (this.#settings.stream && !this.#over) void this.#follow()
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#exchanges.get(message.params?.requestId as RequestId)?.abort()
    }
  }

  #hold(): void {
    this.#held = []
    this.#scope.clock.setTimeout(() => this.#release(), lingerTime)
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const go of held) go()
  }

  #follow(): Promise<void> {
    const port = {
      open: async (signal: AbortSignal, lastEventId: string | undefined) => {
        const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
        const headers = { ...this.#headers(), accept: 'text/event-stream', ...resume }
        return (await this.#dispatchers).sendApart({ method: 'GET', path: this.#path(), headers, signal })
      },
      refused: (response: HttpResponse) => this.#ends(response),
      message: (text: string) => this.#events.message(text),
      trouble: (error: TransportError) => this.#events.trouble(error),
    }
    const { streamIdleTimeout, maxMessageBytes } = this.#settings
    return followStream(port, this.#scope, { idleTimeout: streamIdleTimeout, maxBytes: maxMessageBytes })
  }

  /** Whether a response ends the connection; it is told then. */
  #ends(response: HttpResponse): boolean {
    const verdict = judgeStatus(response.status, this.#sessionId !== undefined)
    if (verdict !== 'session_gone' && verdict !== 'unauthorized') return false
    discard(response.body)
    this.#end({ error: endingError(verdict, response), fatal: verdict === 'unauthorized' })
    return true
  }

  /** Tells the server that we are done; it may refuse (405), and that is all the same to us. */
  async #endSession(): Promise<void> {
    if (this.#sessionId === undefined) return
    const { clock } = this.#scope
    const controller = new AbortController()
    const timer = clock.setTimeout(() => controller.abort(), lingerTime)
    try {
      const dispatchers = await this.#dispatchers
      const request = {
        method: 'DELETE',
        path: this.#path(),
        headers: this.#headers(),
        signal: controller.signal,
      } as const
      const response = await dispatchers.sendApart(request)
      discard(response.body)
    } catch {
      // the session ends by itself one day
    } finally {
      clock.clearTimeout(timer)
    }
  }

  #headers(): Record<string, string> {
    return {
      ...this.#settings.headers,
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#revision === undefined ? {} : { 'mcp-protocol-version': this.#revision }),
    }
  }

  #path(): string {
    return this.#settings.url.pathname + this.#settings.url.search
  }

  #end(end: { error?: TransportError; fatal?: boolean }): void {
    if (this.#over) return
    this.#over = true
    this.#events.closed(end)
  }
}

function isInitialized(message: Message): boolean {
  return 'method' in message && message.method === 'notifications/initialized'
}

/** A reset before the connection stood: nothing was sent on it, whatever the code says. */
function judge(cause: unknown): ReturnType<typeof judgeFailure> {
  if (cause instanceof TransportError) return 'broken'
  const judged = judgeFailure(cause)
  const connecting = (cause as { syscall?: unknown } | null | undefined)?.syscall === 'connect'
  return judged === 'broken' && connecting ? 'unreachable' : judged
}

/** One error for all: it is told after every answer, and made anew it would cost more than the rest of the call. */
const noAnswer = Object.freeze(
  new TransportError('CONNECTION_LOST', 'the response ended without the answer', { retryable: true }),
)

function connectError({ href }: URL, cause: unknown): TransportError {
  return new TransportError('CONNECT_FAILED', `${href} cannot be reached: ${textOf(cause)}`, {
    cause,
    retryable: true,
  })
}

function brokenError(cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause
  return new TransportError('CONNECTION_LOST', `the connection broke: ${textOf(cause)}`, {
    cause,
    retryable: true,
  })
}

/** An AggregateError (several addresses tried) has no message of its own. */
function textOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message
  return messageOf(cause)
}
