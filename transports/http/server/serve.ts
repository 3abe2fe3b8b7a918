import { lazy } from '../../../runtime/faults/load.js'
import {
  type AuthenticateOptions,
  type AuthenticateSettings,
  readAuthenticate,
} from '../../auth/authenticate.js'
import {
  badOption,
  orElse,
  type Read,
  readCount,
  readFields,
  readFlag,
  readMs,
  readText,
  readDelay,
} from '../../base/read-option.js'
import { type PendingOptions, usualPendingBytes } from '../../connections/byte-budget.js'
import type { Binding, LinkScope, ServerTransport } from '../../contract/contract.js'
import { checkReach } from '../listen/guard.js'
import {
  type HttpServer,
  readHosts,
  readOrigins,
  readPath,
  readPort,
  readProxies,
  readServer,
  readServerTls,
  type TlsOptions,
} from '../listen/readers.js'
import { usualMessageBytes } from '../../contract/message-sizes.js'

const loadSocket = lazy('../../transports/http/server/port.js', () => import('./port.js'))

/** How an HTTP listener is set up. */
export interface HttpServeOptions extends AuthenticateOptions, PendingOptions {
  /** Default 0: any free port. */
  readonly port?: number
  /** The address to listen on. Default `127.0.0.1`; anything beyond loopback needs `allowedHosts`. */
  readonly host?: string
  /** The one path that is served. Default `/mcp`. */
  readonly path?: string
  /**
   * Which `Host` headers are let in: `mcp.example.com` at any port, `mcp.example.com:8443` at that one, `*`
   * for all. Default on loopback: localhost, 127.0.0.1 and [::1].
   */
  readonly allowedHosts?: readonly string[]
  /**
   * Which `Origin` headers are let in besides the server's own, such as `https://app.example.com`; `*` for
   * every web site, which is only safe where a request needs a token. Default none.
   */
  readonly allowedOrigins?: readonly string[]
  /**
   * Whether pages of the allowed origins are told that they may call (CORS), with preflight. Default false.
   */
  readonly cors?: boolean
  /**
   * Whether there is a proxy in front whose `X-Forwarded-Host` and `X-Forwarded-For` are believed, or how
   * many there are. Only safe when clients cannot reach the server past them. Default false.
   */
  readonly trustProxy?: boolean | number
  /** Connections at once; further ones are closed when they come. Default 20,000. */
  readonly maxConnections?: number
  /**
   * Connections of one address at once (IPv6: of one /64); further ones are closed when they come. Not
   * counted on a server of your own, and where `trustProxy` says that all come from a proxy. Default 1,000,
   * and as many as there may be from this machine.
   */
  readonly maxConnectionsPerClient?: number
  /**
   * Requests of one client at once, event streams among them; more are answered 429 with Retry-After. A
   * client is an address (behind proxies the one that `trustProxy` finds), and whoever `authenticate` finds.
   * Default 1,000, and any number from the addresses of this machine.
   */
  readonly maxRequestsPerClient?: number
  /**
   * Whether `/healthz` (200 while the process works) and `/readyz` (503 before it listens and while it stops)
   * are answered, to any host. Default false.
   */
  readonly health?: boolean
  /**
   * Milliseconds between `/readyz` turning 503 and the end of listening when the server is stopped, so that a
   * load balancer has noticed; it is part of the server's `drainTimeout`. Default 0.
   */
  readonly drainDelay?: number
  /** Certificate and key, and whatever else `https.createServer` takes: HTTPS instead of HTTP. */
  readonly tls?: TlsOptions
  /**
   * A server of your own, HTTP or HTTPS: requests for `path` are taken, all others left to your listeners.
   * One that listens already is not closed when the MCP server stops; its time limits are yours. Not together
   * with `tls`.
   */
  readonly server?: HttpServer
  /**
   * Bytes a message may have, in either direction: a longer request is answered 413, a longer answer becomes
   * an error. Default 16 MiB, and less where the heap of the process is small.
   */
  readonly maxMessageBytes?: number
  /** Milliseconds a client may take for the headers of a request. Default 10,000. */
  readonly headersTimeout?: number
  /** Milliseconds a client may take for a whole request. Default 30,000. */
  readonly bodyTimeout?: number
  /** Milliseconds an idle connection is kept open. Default 5,000. */
  readonly idleTimeout?: number
  /** Milliseconds between comments that keep event streams open. Default 15,000. */
  readonly commentInterval?: number
  /**
   * Bytes that may wait for a reader of an event stream; beyond that, messages are dropped or the stream is
   * closed. Default 1 MiB.
   */
  readonly maxBufferedBytes?: number
  /**
   * Whether event streams have ids and are kept, so that a client whose connection broke gets the rest of
   * them (`Last-Event-ID`); an object sets how much is kept. In memory: it outlives restarts of the listener,
   * but not the process. Default true.
   */
  readonly resume?: boolean | ResumeOptions
  /**
   * Milliseconds after which clients of 2025-11-25 are to come back when a stream ends early (SEP-1699).
   * Default 1,000.
   */
  readonly retryInterval?: number
  /**
   * Milliseconds after which a request that is not answered yet is answered by an event stream, which can be
   * resumed and is kept open by comments; until then the answer is plain JSON, unless something comes before
   * it. Default 2,000.
   */
  readonly streamAfter?: number
  /**
   * Milliseconds after which an event stream that can be resumed is ended, for the client to come back
   * (SEP-1699). Default never.
   */
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
  readonly maxPendingBytesPerClient: number | undefined
  /** Undefined when streams are not kept. */
  readonly resume: Required<ResumeOptions> | undefined
  /** How many proxies are in front. */
  readonly trustProxy: number
  readonly tls: TlsOptions | undefined
  readonly server: HttpServer | undefined
}

type Special = keyof AuthenticateOptions | PerClient | 'resume' | 'trustProxy' | 'tls' | 'server'

type PerClient = 'maxConnectionsPerClient' | 'maxRequestsPerClient' | 'maxPendingBytesPerClient'

/** The names of these options. */
export const httpFields = [
  'port',
  'host',
  'path',
  'allowedHosts',
  'allowedOrigins',
  'cors',
  'trustProxy',
  'maxConnections',
  'maxConnectionsPerClient',
  'maxRequestsPerClient',
  'health',
  'drainDelay',
  'tls',
  'server',
  'maxMessageBytes',
  'maxPendingBytes',
  'maxPendingBytesPerClient',
  'headersTimeout',
  'bodyTimeout',
  'idleTimeout',
  'commentInterval',
  'maxBufferedBytes',
  'resume',
  'retryInterval',
  'streamAfter',
  'maxStreamTime',
  'authenticate',
  'auth',
  'authenticateTimeout',
] as const

const resumeDefaults = Object.freeze({
  maxEvents: 1_000,
  maxBytes: 1024 * 1024,
  maxTotalBytes: 64 * 1024 * 1024,
  maxAge: 5 * 60_000,
  maxStreams: 128,
})

/**
 * Serves over Streamable HTTP (specification: transports). The port stays taken, and connections stay open,
 * while the listener is restarted: requests that come meanwhile wait up to a second. Throws TransportError
 * BAD_OPTION; a port that cannot be taken fails the start of the server with LISTEN_FAILED.
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
  const { bindHttpSocket } = await loadSocket()
  return bindHttpSocket({ ...settings, port: previous?.port ?? settings.port }, scope)
}

/** Reads the options of an HTTP listener. Throws BAD_OPTION, naming the field. */
export function readOptions(options: HttpServeOptions, fields: readonly string[] = httpFields): HttpSettings {
  const given = readFields(options, 'options', fields)
  const settings: HttpSettings = Object.freeze({
    port: orElse(readPort, 0)(given.port, 'port'),
    host: orElse(readText, '127.0.0.1')(given.host, 'host'),
    path: orElse(readPath, '/mcp')(given.path, 'path'),
    allowedHosts: orElse(readHosts, [])(given.allowedHosts, 'allowedHosts'),
    allowedOrigins: orElse(readOrigins, [])(given.allowedOrigins, 'allowedOrigins'),
    cors: orElse(readFlag, false)(given.cors, 'cors'),
    trustProxy: orElse(readProxies, 0)(given.trustProxy, 'trustProxy'),
    maxConnections: orElse(readCount, 20_000)(given.maxConnections, 'maxConnections'),
    maxConnectionsPerClient: readPerClient(given.maxConnectionsPerClient, 'maxConnectionsPerClient'),
    maxRequestsPerClient: readPerClient(given.maxRequestsPerClient, 'maxRequestsPerClient'),
    health: orElse(readFlag, false)(given.health, 'health'),
    drainDelay: orElse(readDelay, 0)(given.drainDelay, 'drainDelay'),
    tls: orElse(readServerTls, undefined)(given.tls, 'tls'),
    server: orElse(readServer, undefined)(given.server, 'server'),
    maxMessageBytes: orElse(readCount, usualMessageBytes())(given.maxMessageBytes, 'maxMessageBytes'),
    maxPendingBytes: orElse(readCount, usualPendingBytes())(given.maxPendingBytes, 'maxPendingBytes'),
    maxPendingBytesPerClient: orElse(readCount, undefined)(
      given.maxPendingBytesPerClient,
      'maxPendingBytesPerClient',
    ),
    headersTimeout: orElse(readMs, 10_000)(given.headersTimeout, 'headersTimeout'),
    bodyTimeout: orElse(readMs, 30_000)(given.bodyTimeout, 'bodyTimeout'),
    idleTimeout: orElse(readMs, 5_000)(given.idleTimeout, 'idleTimeout'),
    commentInterval: orElse(readMs, 15_000)(given.commentInterval, 'commentInterval'),
    maxBufferedBytes: orElse(readCount, 1024 * 1024)(given.maxBufferedBytes, 'maxBufferedBytes'),
    resume: orElse(readResume, resumeDefaults)(given.resume, 'resume'),
    retryInterval: orElse(readMs, 1_000)(given.retryInterval, 'retryInterval'),
    streamAfter: orElse(readMs, 2_000)(given.streamAfter, 'streamAfter'),
    maxStreamTime: orElse(readMs, Number.POSITIVE_INFINITY)(given.maxStreamTime, 'maxStreamTime'),
    ...readAuthenticate(options),
  })
  if (settings.tls !== undefined && settings.server !== undefined)
    throw badOption('tls', 'nothing beside server, which has its own', settings.tls)
  if (settings.server === undefined) checkReach(settings)
  return settings
}

const readPerClient = orElse(readCount, undefined)

const readResume: Read<Required<ResumeOptions> | undefined> = (value, field) => {
  if (typeof value === 'boolean') return value ? resumeDefaults : undefined
  if (typeof value !== 'object' || value === null) throw badOption(field, 'true, false or an object', value)
  const given = readFields(value, field, Object.keys(resumeDefaults), `${field}.`)
  const count = (name: Exclude<keyof ResumeOptions, 'maxAge'>): number =>
    orElse(readCount, resumeDefaults[name])(given[name], `${field}.${name}`)
  return Object.freeze({
    maxEvents: count('maxEvents'),
    maxBytes: count('maxBytes'),
    maxTotalBytes: count('maxTotalBytes'),
    maxAge: orElse(readMs, resumeDefaults.maxAge)(given.maxAge, `${field}.maxAge`),
    maxStreams: count('maxStreams'),
  })
}
