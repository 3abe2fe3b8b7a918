import { errorCodes } from '../../../protocol/wire/errors.js'
import { isObject } from '../../../protocol/wire/json.js'
import type { Message, RequestId } from '../../../protocol/wire/jsonrpc.js'
import { lazy } from '../../../runtime/faults/load.js'
import type { Link, LinkEnd, LinkEvents, LinkScope, SendOptions } from '../../contract/contract.js'
import type { TransportError } from '../../base/errors.js'
import { HttpLink, type ServerHabits } from './link.js'
import type { HttpSettings } from './options.js'

const loadSse = lazy('../../transports/http/client/sse-link.js', () => import('./sse-link.js'))

/** A message that waits for the older transport, and what becomes of it if that is of no use either. */
interface Refused {
  readonly text: string
  readonly message: Message
  readonly id: RequestId
  readonly error: TransportError
}

/**
 * Streamable HTTP, or HTTP+SSE at the same address where a server knows no better: when it refuses to be
 * posted `initialize` (400, 404, 405, without an error of 2026-07-28) an event stream is asked for, and
 * `initialize` goes where that says (specification: transports, backwards compatibility). If there is none,
 * the refusal stands.
 */
export class FallbackLink implements Link {
  readonly #settings: HttpSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  #link: Link
  #initialize: { readonly text: string; readonly message: Message; readonly id: RequestId } | undefined
  #closing = false

  constructor(settings: HttpSettings, events: LinkEvents, scope: LinkScope, habits: ServerHabits) {
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
    const asked = this.#initialize
    if (asked?.id !== id || !isOlder(error) || this.#closing) return this.#events.lost(id, error)
    this.#initialize = undefined
    void this.#fallBack({ ...asked, error })
  }

  async #fallBack(refused: Refused): Promise<void> {
    const { SseLink } = await loadSse()
    if (this.#closing || this.#scope.signal.aborted) return
    const { text, message, id, error } = refused
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
    const { redirects } = this.#settings
    const settings = { ...this.#settings, redirects: { ...redirects, elsewhere: false } }
    this.#link = new SseLink(settings, older, this.#scope)
  }
}

/** The codes that only servers of 2026-07-28 have: whoever answers with one of them is no older than that. */
const modernCodes: ReadonlySet<unknown> = new Set([
  errorCodes.headerMismatch,
  errorCodes.missingClientCapability,
  errorCodes.unsupportedProtocolVersion,
])

/** What servers of 2024-11-05 say to a POST at the address of their stream. */
function isOlder({ code, data }: TransportError): boolean {
  const { status, error } = isObject(data) ? data : {}
  if (code !== 'HTTP_STATUS' || (isObject(error) && modernCodes.has(error.code))) return false
  return status === 400 || status === 404 || status === 405
}
