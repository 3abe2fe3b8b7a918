import { validateHeaderName, validateHeaderValue } from 'node:http'
import { badOption, orElse, type Read, readCount, readFields, readFlag, readMs } from './client-options.js'

/** How a client reaches a Streamable HTTP server. */
export interface HttpOptions {
  /** Sent with every request; those of the protocol itself (Accept, Content-Type, Mcp-Session-Id ...) cannot be set. */
  readonly headers?: Readonly<Record<string, string>>
  /** Connections for requests at once; more requests wait for one. Event streams do not count. Default 100. */
  readonly connections?: number
  /** The longest message, or event, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number
  /** Milliseconds to establish a TCP or TLS connection. Default 10,000. */
  readonly connectTimeout?: number
  /** Whether to keep a stream open for what belongs to no request, such as list changes. Default true. */
  readonly stream?: boolean
  /** Milliseconds without a byte after which that stream is opened again. Default 5 minutes. */
  readonly streamIdleTimeout?: number
}

/** Checked options with every default filled in. */
export interface HttpSettings {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly maxMessageBytes: number
  readonly connectTimeout: number
  readonly stream: boolean
  readonly streamIdleTimeout: number
}

const fields = ['headers', 'connections', 'maxMessageBytes', 'connectTimeout', 'stream', 'streamIdleTimeout']
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

/** Reads the arguments of `http()`. Throws BAD_OPTION, naming the field. */
export function readHttpOptions(url: string | URL, options: HttpOptions): HttpSettings {
  const given = readFields(options, 'options', fields)
  return Object.freeze({
    url: readUrl(url, 'url'),
    headers: orElse(readHeaders, {})(given.headers, 'headers'),
    connections: orElse(readCount, 100)(given.connections, 'connections'),
    maxMessageBytes: orElse(readCount, 4 * 1024 * 1024)(given.maxMessageBytes, 'maxMessageBytes'),
    connectTimeout: orElse(readMs, 10_000)(given.connectTimeout, 'connectTimeout'),
    stream: orElse(readFlag, true)(given.stream, 'stream'),
    streamIdleTimeout: orElse(readMs, 300_000)(given.streamIdleTimeout, 'streamIdleTimeout'),
  })
}

const readUrl: Read<URL> = (value, field) => {
  const text = value instanceof URL ? value.href : value
  if (typeof text !== 'string' || !URL.canParse(text))
    throw badOption(field, 'an http or https address', value)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw badOption(field, 'an http or https address', url.protocol)
  // The address is shown in trees and errors, where no secret may be.
  if (url.username !== '' || url.password !== '')
    throw badOption(field, 'no user and password (use headers)', 'both or one')
  return url
}

/** Headers of the user's own, their names in lower case. */
export const readHeaders: Read<Readonly<Record<string, string>>> = (value, field) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(field, 'an object of strings', value)
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
