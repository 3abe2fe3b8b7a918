import {
  badOption,
  orElse,
  type Read,
  readCount,
  readFlag,
  readGroup,
  readMs,
  readOptions,
  type ReadWith,
} from '../../base/read-option.js'
import { usualMessageBytes, usualPendingBytes } from '../../contract/message-sizes.js'
import type { RedirectRules } from '../outgoing/redirect.js'
import { readClientTls, type TlsOptions } from '../outgoing/tls-options.js'
import { type AuthOption, readClientAuth } from './auth.js'

/** How a client reaches a Streamable HTTP server. */
export interface HttpOptions {
  /** Sent with every request. Those of the protocol (Accept, Mcp-Session-Id ...) cannot be set. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Credentials: a token, a function that returns one for each request, or a provider such as `oauth()`.
   * Sent to the origin of the address only, and over `headers`. Default: none, and a server that wants
   * authorization (401) for all requests is a fatal failure.
   */
  readonly auth?: AuthOption
  /** How much there may be at once. */
  readonly limits?: HttpClientLimitOptions
  /** Milliseconds to establish a TCP or TLS connection. Default 10,000. */
  readonly connectTimeout?: number
  /** Whether to keep a stream open for what belongs to no request, such as list changes. Default true. */
  readonly stream?: boolean
  /** Milliseconds without a byte after which that stream is opened again. Default 5 minutes. */
  readonly streamIdleTimeout?: number
  /** Milliseconds until a response has to begin. Default Infinity: only the deadline of the call counts. */
  readonly headersTimeout?: number
  /** Milliseconds without a byte after which a response, stream or JSON, is broken. Default Infinity. */
  readonly idleTimeout?: number
  /** Trusted authorities and our certificate, for https. */
  readonly tls?: TlsOptions
  /**
   * An HTTP proxy that every connection goes through (CONNECT), such as `http://user:password@proxy:3128`.
   * Default none, whatever the environment says.
   */
  readonly proxy?: string | URL
  /**
   * Redirects of one request that are followed, method and body as they are; 0: none. To another origin
   * without the headers given here. Default 5.
   */
  readonly maxRedirects?: number
  /**
   * Whether a server that refuses the POST of `initialize` (400, 404, 405) is tried as one of 2024-11-05,
   * with an event stream at the same address. Default true.
   */
  readonly sseFallback?: boolean
}

/** How much an HTTP client has at once. */
export interface HttpClientLimitOptions {
  /** Connections for requests; more wait. Event streams do not count. Default 100. */
  readonly connections?: number
  /** Open streams and other responses besides `connections`; more fail with SEND_FAILED. Default 1000. */
  readonly streams?: number
  /** Bytes of a message, either way; a longer one fails its call. Default 16 MiB, less in a small heap. */
  readonly messageBytes?: number
  /**
   * Bytes of answers that are still coming, of all calls and streams together; what has no more room fails
   * with BYTES_LIMIT. At least `messageBytes`. Default an eighth of the heap that the process may have.
   */
  readonly pendingBytes?: number
}

export type HttpClientSettings = Omit<ReadWith<typeof readers>, 'maxRedirects'> & {
  readonly url: URL
  readonly redirects: RedirectRules
}

const reserved = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
])

export function readHttpOptions(url: string | URL, options: HttpOptions): HttpClientSettings {
  const { maxRedirects, ...read } = readOptions(options, readers)
  return Object.freeze({ url: readUrl(url, 'url'), ...read, redirects: { maxRedirects, elsewhere: true } })
}

/** A hint for what people most often give instead. */
function schemeHint({ protocol }: URL): string {
  return protocol === 'ws:' || protocol === 'wss:' ? ', and of websocket() this one' : ''
}

const readUrl: Read<URL> = (value, field) => {
  const text = value instanceof URL ? value.href : value
  if (typeof text !== 'string' || !URL.canParse(text))
    throw badOption(field, 'an http or https address such as http://localhost:3000/mcp', value)
  const url = new URL(text)
  const { protocol, hostname, pathname } = url
  if (hostname === '' && /^\d+(?:\/|$)/.test(pathname))
    throw badOption(field, `http:// before it, as in http://${protocol}${pathname}`, `${protocol}${pathname}`)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw badOption(field, `an http or https address${schemeHint(url)}`, protocol)
  // The address is shown in trees and errors, where no secret may be.
  if (url.username !== '' || url.password !== '')
    throw badOption(field, 'no user and password (use headers)', 'both or one')
  return url
}

/** The address may have a password: it is not shown. */
const readProxy: Read<URL> = (value, field) => {
  const text = value instanceof URL ? value.href : value
  if (typeof text === 'string' && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))
    return new URL(text)
  throw badOption(field, 'the http or https address of a proxy', typeof value)
}

const readHops: Read<number> = (value, field) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 20) return value
  throw badOption(field, 'a whole number from 0 to 20', value)
}

export const readHeaders: Read<Readonly<Record<string, string>>> = (value, field) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(field, 'an object of strings', typeof value)
  // not imported: a program that serves standard input and output alone never loads it
  const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http')
  const headers: Record<string, string> = {}
  for (const [name, text] of Object.entries(value)) {
    const lower = name.toLowerCase()
    if (!isValid(() => validateHeaderName(name))) throw badOption(field, 'names of HTTP headers', name)
    if (reserved.has(lower))
      throw badOption(`${field}.${name}`, 'a header that the transport does not set itself', lower)
    // The value may be a secret: it is not shown.
    if (!isValid(() => validateHeaderValue(name, text)))
      throw badOption(`${field}.${name}`, 'a header value', typeof text)
    headers[lower] = text as string
  }
  return Object.freeze(headers)
}

function isValid(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

const readers = {
  headers: orElse(readHeaders, {}),
  auth: orElse(readClientAuth, undefined),
  limits: readGroup({
    connections: orElse(readCount, 100),
    streams: orElse(readCount, 1_000),
    messageBytes: orElse(readCount, usualMessageBytes()),
    pendingBytes: orElse(readCount, usualPendingBytes()),
  }),
  connectTimeout: orElse(readMs, 10_000),
  stream: orElse(readFlag, true),
  streamIdleTimeout: orElse(readMs, 300_000),
  headersTimeout: orElse(readMs, Number.POSITIVE_INFINITY),
  idleTimeout: orElse(readMs, Number.POSITIVE_INFINITY),
  tls: orElse(readClientTls, undefined),
  proxy: orElse(readProxy, undefined),
  maxRedirects: orElse(readHops, 5),
  sseFallback: orElse(readFlag, true),
}
