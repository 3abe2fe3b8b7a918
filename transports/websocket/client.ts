import { lazy } from '../../runtime/faults/load.js'
import { type AuthOption, readClientAuth } from '../http/client/auth.js'
import { badOption, orElse, type Read, readMs, readOptions, type ReadWith } from '../base/read-option.js'
import type { ClientTransport } from '../contract/contract.js'
import { readHeaders } from '../http/client/options.js'
import { readClientTls, type TlsOptions } from '../http/outgoing/tls-options.js'
import { type LinkLimitOptions, readLinkLimits } from '../contract/link-limits.js'

const load = /* @__PURE__ */ lazy('../../transports/websocket/link.js', () => import('./link.js'))

/** How a client reaches a WebSocket server. */
export interface WebSocketOptions {
  /** Sent with the upgrade request; those of the protocol itself cannot be set. */
  readonly headers?: Readonly<Record<string, string>>
  /** Who we are, as for `http()`; asked before each upgrade. */
  readonly auth?: AuthOption
  /**
   * How large messages may be, and what waits. A message of the server that is four times as long as it may be
   * ends the connection.
   */
  readonly limits?: LinkLimitOptions
  /** Milliseconds until the socket must be open. Default 10,000. */
  readonly connectTimeout?: number
  /** Milliseconds between pings; no answer by the next means a dead server. Default 30,000. */
  readonly pingInterval?: number
  /** Whom to trust, and who we are, where the address is wss. */
  readonly tls?: TlsOptions
}

const readers = {
  headers: orElse(readHeaders, {}),
  auth: orElse(readClientAuth, undefined),
  limits: readLinkLimits,
  connectTimeout: orElse(readMs, 10_000),
  pingInterval: orElse(readMs, 30_000),
  tls: orElse(readClientTls, undefined),
}

export type WebSocketSettings = ReadWith<typeof readers> & { readonly url: URL }

/**
 * A server behind a WebSocket, subprotocol `mcp`, one message a text frame: a custom transport that no
 * revision specifies, as the official TypeScript SDK 1 has it. The session ends with the socket. Throws
 * BAD_OPTION, naming the field. `ws` is loaded with the first connection. A server that wants authorization
 * (401), cannot be trusted (TLS) or does not speak `mcp` is a fatal failure.
 */
export function websocket(url: string | URL, options: WebSocketOptions = {}): ClientTransport {
  const settings: WebSocketSettings = { url: readUrl(url, 'url'), ...readOptions(options, readers) }
  return Object.freeze({
    name: `websocket ${settings.url.host}${settings.url.pathname}`,
    async connect(events, scope) {
      const { WebSocketLink } = await load()
      scope.signal.throwIfAborted()
      return new WebSocketLink(settings, events, scope)
    },
  } satisfies ClientTransport)
}

const readUrl: Read<URL> = (value, field) => {
  const text = value instanceof URL ? value.href : value
  if (typeof text !== 'string' || !URL.canParse(text)) throw badOption(field, 'a ws or wss address', value)
  const url = new URL(text)
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:')
    throw badOption(
      field,
      `a ws or wss address${/^https?:$/.test(url.protocol) ? ', and of http() this one' : ''}`,
      url.protocol,
    )
  // The address is shown in trees and errors, where no secret may be.
  if (url.username !== '' || url.password !== '')
    throw badOption(field, 'no user and password (use headers)', 'both or one')
  if (url.hash !== '') throw badOption(field, 'no fragment', url.hash)
  return url
}
