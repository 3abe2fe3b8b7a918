import { errorCodes } from '../../../protocol/wire/errors.js'
import { isObject } from '../../../protocol/wire/json.js'
import type { Message, RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { TransportError } from '../../base/errors.js'
import type {
  ClientTransport,
  Link,
  LinkEnd,
  LinkEvents,
  LinkScope,
  SendOptions,
} from '../../contract/contract.js'
import { AnswerBudget } from './answer-budget.js'
import { HttpLink, type ServerHabits } from './link.js'
import { type HttpOptions, type HttpClientSettings, readHttpOptions } from './options.js'
import { SseLink } from './sse.js'

/**
 * A server behind Streamable HTTP (specification: transports): one POST for each message, and one GET stream
 * for what belongs to no request. The session is kept until the server ends it. Throws BAD_OPTION, naming the
 * field. Nothing is connected before the first message, and undici is loaded only then.
 */
export function http(url: string | URL, options: HttpOptions = {}): ClientTransport {
  const settings = readHttpOptions(url, options)
  const habits: ServerHabits = { isSilent: false, budget: new AnswerBudget(settings.limits) }
  return Object.freeze({
    name: `http ${settings.url.host}${settings.url.pathname}`,
    modern: 'http' as const,
    connect: (events: LinkEvents, scope: LinkScope) =>
      settings.sseFallback
        ? new FallbackLink(settings, events, scope, habits)
        : new HttpLink(settings, events, scope, habits),
  })
}

/**
 * Streamable HTTP, or HTTP+SSE for an older server: when the POST of `initialize` is refused (400, 404, 405,
 * without an error of 2026-07-28), an event stream says where it goes (specification: transports, backwards
 * compatibility). Without one, the refusal stands.
 */
class FallbackLink implements Link {
  readonly #settings: HttpClientSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  #link: Link
  #initialize: { readonly text: string; readonly message: Message; readonly id: RequestId } | undefined
  #closing = false

  constructor(settings: HttpClientSettings, events: LinkEvents, scope: LinkScope, habits: ServerHabits) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    const newer: LinkEvents = {
      ...events,
      lost: (id, error) => this.#lost(id, error),
      closed: (end) => {
        if (this.#link === http) events.closed(end)
      },
    }
    const http = new HttpLink(settings, newer, scope, habits)
    this.#link = http
  }

  send(text: string, message: Message, options?: SendOptions): void {
    if ('method' in message && message.method === 'initialize' && 'id' in message)
      this.#initialize = { text, message, id: message.id }
    this.#link.send(text, message, options)
  }

  abort(id: RequestId): void {
    this.#link.abort?.(id)
  }

  negotiated(revision: string): void {
    this.#initialize = undefined
    this.#link.negotiated?.(revision)
  }

  close(): void {
    this.#closing = true
    this.#link.close()
  }

  #lost(id: RequestId, error: TransportError): void {
    const initialize = this.#initialize
    const isOver = this.#closing || this.#scope.signal.aborted
    if (initialize?.id !== id || isOver || !isOlder(error)) return this.#events.lost(id, error)
    this.#initialize = undefined
    const { text, message } = initialize
    const http = this.#link
    let isOpen = false
    const older: LinkEvents = {
      ...this.#events,
      opened: () => {
        isOpen = true
        http.close()
        this.#link.send(text, message)
      },
      closed: (end: LinkEnd) => {
        if (isOpen || this.#closing) return this.#events.closed(end)
        this.#link = http
        this.#events.lost(id, error)
      },
    }
    const redirects = { ...this.#settings.redirects, elsewhere: false }
    this.#link = new SseLink({ ...this.#settings, redirects }, older, this.#scope)
  }
}

/** The codes of 2026-07-28: a server that answers with one of them is no older than that. */
const modernCodes: ReadonlySet<unknown> = new Set([
  errorCodes.headerMismatch,
  errorCodes.missingClientCapability,
  errorCodes.unsupportedProtocolVersion,
])

/** What servers of 2024-11-05 answer to a POST at the address of their stream. */
function isOlder({ code, data }: TransportError): boolean {
  const { status, error } = isObject(data) ? data : {}
  if (code !== 'HTTP_STATUS' || (isObject(error) && modernCodes.has(error.code))) return false
  return status === 400 || status === 404 || status === 405
}
