import { among } from '../runtime/near.js'
import type { Server } from 'node:http'
import type { Server as SecureServer, ServerOptions } from 'node:https'
import { outside } from '../runtime/containment.js'
import { show } from '../runtime/errors.js'
import { type AuthenticateOptions, type AuthenticateSettings, readAuthenticate } from './authenticate.js'
import type { Binding, LinkScope, ServerTransport } from './contract.js'
import { TransportError } from './errors.js'
import { checkReach } from './http-guard.js'

/** What `https.createServer` takes. */
export type TlsOptions = ServerOptions
/** A server of node:http or node:https. */
export type HttpServer = Server | SecureServer

/** How an HTTP listener is set up. */
export interface HttpServeOptions extends AuthenticateOptions {
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
  /**
   * Which `Origin` headers are let in besides the server's own, such as `https://app.example.com`; `*` for every web site, which is
   * only safe where a request needs a token. Default none.
   */
  readonly allowedOrigins?: readonly string[]
  /** Whether pages of the allowed origins are told that they may call (CORS), with preflight. Default false. */
  readonly cors?: boolean
  /**
   * Whether there is a proxy in front whose `X-Forwarded-Host` and `X-Forwarded-For` are believed, or how many there are. Only safe
   * when clients cannot reach the server past them. Default false.
   */
  readonly trustProxy?: boolean | number
  /** Connections at once; further ones are closed when they come. Default 20,000. */
  readonly maxConnections?: number
  /**
   * Connections of one address at once (IPv6: of one /64); further ones are closed when they come. Not counted on a server of your own, and where
   * `trustProxy` says that all come from a proxy. Default 1,000, and as many as there may be from this machine.
   */
  readonly maxConnectionsPerClient?: number
  /**
   * Requests of one client at once, event streams among them; more are answered 429 with Retry-After. A client is an address (behind proxies
   * the one that `trustProxy` finds), and whoever `authenticate` finds. Default 1,000, and any number from the addresses of this machine.
   */
  readonly maxRequestsPerClient?: number
  /**
   * Whether `/healthz` (200 while the process works) and `/readyz` (503 before it listens and while it stops) are answered, to any
   * host. Default false.
   */
  readonly health?: boolean
  /**
   * Milliseconds between `/readyz` turning 503 and the end of listening when the server is stopped, so that a load balancer has
   * noticed; it is part of the server's `drainTimeout`. Default 0.
   */
  readonly drainDelay?: number
  /** Certificate and key, and whatever else `https.createServer` takes: HTTPS instead of HTTP. */
  readonly tls?: TlsOptions
  /**
   * A server of your own, HTTP or HTTPS: requests for `path` are taken, all others left to your listeners. One that listens
   * already is not closed when the MCP server stops; its time limits are yours. Not together with `tls`.
   */
  readonly server?: HttpServer
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
  /**
   * Whether event streams have ids and are kept, so that a client whose connection broke gets the rest of them (`Last-Event-ID`);
   * an object sets how much is kept. In memory: it outlives restarts of the listener, but not the process. Default true.
   */
  readonly resume?: boolean | ResumeOptions
  /** Milliseconds after which clients of 2025-11-25 are to come back when a stream ends early (SEP-1699). Default 1,000. */
  readonly retryInterval?: number
  /**
   * Milliseconds after which a request that is not answered yet is answered by an event stream, which can be resumed and is kept
   * open by comments; until then the answer is plain JSON, unless something comes before it. Default 2,000.
   */
  readonly streamAfter?: number
  /** Milliseconds after which an event stream that can be resumed is ended, for the client to come back (SEP-1699). Default never. */
  readonly maxStreamTime?: number
}

/** How much is kept of event streams for clients that come back. */
export interface ResumeOptions {
  /** Events of one stream. Default 1,000. */
  readonly maxEvents?: number
  /** Bytes of one stream. Default 1 MiB; the last event is kept whatever its size. */
  readonly maxBytes?: number
  /** Bytes of all streams; beyond that, the oldest lose their events. Default 64 MiB. */
  readonly maxTotalBytes?: number
  /** Milliseconds a stream is kept that nobody reads. Default 5 min. */
  readonly maxAge?: number
  /** Streams of one session; beyond that, the oldest goes. Default 128. */
  readonly maxStreams?: number
}

/** Checked options with every default filled in. */
export interface HttpSettings
  extends Readonly<Required<Omit<HttpServeOptions, Special>>>,
    AuthenticateSettings {
  readonly maxConnectionsPerClient: number | undefined
  readonly maxRequestsPerClient: number | undefined
  /** Undefined when streams are not kept. */
  readonly resume: Required<ResumeOptions> | undefined
  /** How many proxies are in front. */
  readonly trustProxy: number
  readonly tls: TlsOptions | undefined
  readonly server: HttpServer | undefined
}

type Special = keyof AuthenticateOptions | PerClient | 'resume' | 'trustProxy' | 'tls' | 'server'

type PerClient = 'maxConnectionsPerClient' | 'maxRequestsPerClient'

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
  cors: false,
  trustProxy: false as boolean | number,
  maxConnections: 20_000,
  maxConnectionsPerClient: undefined as number | undefined,
  maxRequestsPerClient: undefined as number | undefined,
  health: false,
  drainDelay: 0,
  tls: undefined as TlsOptions | undefined,
  server: undefined as HttpServer | undefined,
  resume: true as boolean | ResumeOptions,
  retryInterval: 1_000,
  streamAfter: 2_000,
  maxStreamTime: Number.POSITIVE_INFINITY,
  authenticate: undefined,
  auth: undefined,
  authenticateTimeout: 5_000,
})

const resumeDefaults = Object.freeze({
  maxEvents: 1_000,
  maxBytes: 1024 * 1024,
  maxTotalBytes: 64 * 1024 * 1024,
  maxAge: 5 * 60_000,
  maxStreams: 128,
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

/** Reads the options of an HTTP listener. Throws BAD_OPTION, naming the field. */
export function readOptions(options: HttpServeOptions): HttpSettings {
  if (typeof options !== 'object' || options === null) throw bad('options', 'an object', options)
  for (const field of Object.keys(options)) {
    if (!Object.hasOwn(defaults, field))
      throw bad(field, among('an option', Object.keys(defaults), field), field)
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const special = {
    resume: readResume(options.resume),
    trustProxy: readProxies(options.trustProxy),
    ...readAuthenticate(options),
  }
  const settings: HttpSettings = { ...defaults, ...given, ...special }
  const { port, host, path, allowedHosts, allowedOrigins, drainDelay, server } = settings
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw bad('port', 'a port from 0 to 65535', port)
  if (typeof host !== 'string' || host === '') throw bad('host', 'an address', host)
  if (typeof path !== 'string' || !/^\/[^?#\s]*$/.test(path)) throw bad('path', 'a path such as /mcp', path)
  if (!isListOf(hostName, allowedHosts))
    throw bad('allowedHosts', 'an array of hosts such as "mcp.example.com" or "*"', allowedHosts)
  if (!isListOf(originName, allowedOrigins))
    throw bad('allowedOrigins', 'an array of origins such as "https://app.example.com"', allowedOrigins)
  checkPositive(settings)
  if (!(typeof drainDelay === 'number' && drainDelay >= 0))
    throw bad('drainDelay', 'milliseconds of 0 or more', drainDelay)
  for (const field of ['cors', 'health'] as const)
    if (typeof settings[field] !== 'boolean') throw bad(field, 'true or false', settings[field])
  checkServer(settings)
  if (server === undefined) checkReach(settings)
  return Object.freeze({ ...settings, allowedHosts: [...allowedHosts], allowedOrigins: [...allowedOrigins] })
}

const positive = [
  'maxBodyBytes',
  'headersTimeout',
  'bodyTimeout',
  'maxConnections',
  'maxConnectionsPerClient',
  'maxRequestsPerClient',
  'idleTimeout',
  'commentInterval',
  'maxBufferedBytes',
  'retryInterval',
  'streamAfter',
  'maxStreamTime',
] as const

function readResume(given: unknown = true): Required<ResumeOptions> | undefined {
  if (given === false) return undefined
  if (given === true) return resumeDefaults
  if (typeof given !== 'object' || given === null) throw bad('resume', 'true, false or an object', given)
  const read: Record<string, number> = { ...resumeDefaults }
  for (const [field, value] of Object.entries(given)) {
    if (!Object.hasOwn(resumeDefaults, field))
      throw bad(`resume.${field}`, among('an option', Object.keys(resumeDefaults), field), field)
    if (value === undefined) continue
    if (!(typeof value === 'number' && value > 0)) throw bad(`resume.${field}`, 'a number above 0', value)
    read[field] = value
  }
  return Object.freeze(read as unknown as Required<ResumeOptions>)
}

function checkPositive(settings: HttpSettings): void {
  for (const field of positive) {
    const value: unknown = settings[field]
    if (value === undefined && field.endsWith('PerClient')) continue
    if (!(typeof value === 'number' && value > 0)) throw bad(field, 'a number above 0', value)
  }
}

function readProxies(given: unknown = false): number {
  if (typeof given === 'boolean') return Number(given)
  if (typeof given === 'number' && Number.isInteger(given) && given >= 0) return given
  throw bad('trustProxy', 'true, false or a number of proxies', given)
}

function checkServer({ tls, server }: HttpSettings): void {
  if (tls !== undefined && (typeof tls !== 'object' || tls === null))
    throw bad('tls', 'an object with cert and key', tls)
  if (server === undefined) return
  if (typeof server?.listen !== 'function' || typeof server.emit !== 'function')
    throw bad('server', 'a server of node:http or node:https', server)
  if (tls !== undefined) throw bad('tls', 'nothing beside a server of your own', tls)
}

const hostName = /^[^/?#@\s]+$/
const originName = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+)$/

function isListOf(pattern: RegExp, value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && pattern.test(item))
}

function bad(field: string, expected: string, got: unknown): TransportError {
  return new TransportError('BAD_OPTION', `serveHttp: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { field },
  })
}
