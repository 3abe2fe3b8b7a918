import { outside } from '../runtime/containment.js'
import { show } from '../runtime/errors.js'
import type { Binding, LinkScope, ServerTransport } from './contract.js'
import { TransportError } from './errors.js'
import { isLoopback } from './http-guard.js'

/** How an HTTP listener is set up. */
export interface HttpServeOptions {
  /** Default 0: any free port. */
  readonly port?: number
  /** The address to listen on. Default `127.0.0.1`; anything beyond loopback needs `allowedHosts`. */
  readonly host?: string
  /** The one path that is served. Default `/mcp`. */
  readonly path?: string
  /**
   * Which `Host` headers are let in: `mcp.example.com` at any port, `mcp.example.com:8443` at that one, `*` for all. Default on
   * loopback: localhost, 127.0.0.1 and [::1].
   */
  readonly allowedHosts?: readonly string[]
  /** Which `Origin` headers are let in besides the server's own, such as `https://app.example.com`. Default none. */
  readonly allowedOrigins?: readonly string[]
  /** Bytes a request body may have. Default 4 MiB; more is answered 413. */
  readonly maxBodyBytes?: number
  /** Milliseconds a client may take for the headers of a request. Default 10,000. */
  readonly headersTimeout?: number
  /** Milliseconds a client may take for a whole request. Default 30,000. */
  readonly bodyTimeout?: number
  /** Milliseconds an idle connection is kept open. Default 5,000. */
  readonly idleTimeout?: number
  /** Milliseconds between comments that keep event streams open. Default 15,000. */
  readonly commentInterval?: number
  /** Bytes that may wait for a reader of an event stream; beyond that, messages are dropped or the stream is closed. Default 1 MiB. */
  readonly maxBufferedBytes?: number
}

/** Checked options with every default filled in. */
export type HttpSettings = Readonly<Required<HttpServeOptions>>

const defaults = Object.freeze({
  port: 0,
  host: '127.0.0.1',
  path: '/mcp',
  allowedHosts: [] as readonly string[],
  allowedOrigins: [] as readonly string[],
  maxBodyBytes: 4 * 1024 * 1024,
  headersTimeout: 10_000,
  bodyTimeout: 30_000,
  idleTimeout: 5_000,
  commentInterval: 15_000,
  maxBufferedBytes: 1024 * 1024,
})

/**
 * Serves over Streamable HTTP (specification: transports). The port stays taken, and connections stay open, while the listener
 * is restarted: requests that come meanwhile wait up to a second. Throws TransportError BAD_OPTION; a port that cannot be
 * taken fails the start of the server with LISTEN_FAILED.
 */
export function serveHttp(options: HttpServeOptions = {}): ServerTransport {
  const settings = readOptions(options)
  return Object.freeze({
    name: 'http',
    bind: (scope: LinkScope, previous?: Binding) => bindLazily(settings, scope, previous),
  })
}

/** Imported when a server starts: a program without an HTTP listener never loads node:http. */
async function bindLazily(settings: HttpSettings, scope: LinkScope, previous?: Binding): Promise<Binding> {
  const { bindHttpSocket } = await outside(() => import('./http-socket.js'))
  return bindHttpSocket({ ...settings, port: previous?.port ?? settings.port }, scope)
}

function readOptions(options: HttpServeOptions): HttpSettings {
  if (typeof options !== 'object' || options === null) throw bad('options', 'an object', options)
  for (const field of Object.keys(options)) {
    if (!Object.hasOwn(defaults, field))
      throw bad(field, `an option among ${Object.keys(defaults).join(', ')}`, field)
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const settings: HttpSettings = { ...defaults, ...given }
  const { port, host, path, allowedHosts, allowedOrigins } = settings
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw bad('port', 'a port from 0 to 65535', port)
  if (typeof host !== 'string' || host === '') throw bad('host', 'an address', host)
  if (typeof path !== 'string' || !/^\/[^?#\s]*$/.test(path)) throw bad('path', 'a path such as /mcp', path)
  if (!isListOfTexts(allowedHosts)) throw bad('allowedHosts', 'an array of hosts', allowedHosts)
  if (!isListOfTexts(allowedOrigins)) throw bad('allowedOrigins', 'an array of origins', allowedOrigins)
  checkPositive(settings)
  if (!isLoopback(host) && allowedHosts.length === 0) throw openToAll(host)
  return Object.freeze({ ...settings, allowedHosts: [...allowedHosts], allowedOrigins: [...allowedOrigins] })
}

const positive = [
  'maxBodyBytes',
  'headersTimeout',
  'bodyTimeout',
  'idleTimeout',
  'commentInterval',
  'maxBufferedBytes',
] as const

function checkPositive(settings: HttpSettings): void {
  for (const field of positive) {
    const value: unknown = settings[field]
    if (!(typeof value === 'number' && value > 0)) throw bad(field, 'a number above 0', value)
  }
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
}

function openToAll(host: string): TransportError {
  const why = `host: ${show(host)} can be reached from other machines`
  const advice =
    'set allowedHosts to the names that clients use, such as ["mcp.example.com"], or ["*"] for any; or listen on 127.0.0.1'
  return new TransportError('BAD_OPTION', `${why}: ${advice}`, { data: { field: 'allowedHosts' } })
}

function bad(field: string, expected: string, got: unknown): TransportError {
  return new TransportError('BAD_OPTION', `serveHttp: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { field },
  })
}
