import { errorCodes } from '../../../protocol/wire/errors.js'
import { isObject } from '../../../protocol/wire/json.js'
import type { Message, RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { TransportError } from '../../base/errors.js'
import type { Link, LinkEnd, LinkEvents, LinkScope, SendOptions } from '../../contract/contract.js'
import { HttpLink, type ServerHabits } from './link.js'
import type { HttpClientSettings } from './options.js'
import { SseLink } from './sse-link.js'

/** Begins a connection, as the settings say. */
export function connectHttp(
  settings: HttpClientSettings,
  events: LinkEvents,
  scope: LinkScope,
  habits: ServerHabits,
): Link {
  const Chosen = settings.sseFallback ? FallbackLink : HttpLink
  return new Chosen(settings, events, scope, habits)
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
