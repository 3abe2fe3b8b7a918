import {
  type AuthenticateOptions,
  type AuthenticateSettings,
  readAuthenticate,
} from '../../auth/authenticate.js'
import {
  badOption,
  orElse,
  readCount,
  readFlag,
  readMs,
  readText,
  readDelay,
} from '../../base/read-option.js'
import { type PendingOptions, usualPendingBytes } from '../../connections/byte-budget.js'
import { checkReach } from './guard.js'
import {
  type HttpServer,
  readHosts,
  readOrigins,
  readPort,
  readProxies,
  readServer,
  readServerTls,
  type TlsOptions,
} from './readers.js'
import { usualMessageBytes } from '../../contract/message-sizes.js'

/** Where a listener with a port of its own is, and whom it lets in. */
export interface ListenOptions extends AuthenticateOptions, PendingOptions {
  /** Default 0: any free port. */
  readonly port?: number
  /** The address to listen on. Default `127.0.0.1`; anything beyond loopback needs `allowedHosts`. */
  readonly host?: string
  /**
   * Which `Host` headers are let in: `mcp.example.com` at any port, `mcp.example.com:8443` at that one, `*`
   * for all. Default on loopback: localhost, 127.0.0.1 and [::1].
   */
  readonly allowedHosts?: readonly string[]
  /**
   * Which `Origin` headers are let in besides the server's own, such as `https://app.example.com`. Default
   * none.
   */
  readonly allowedOrigins?: readonly string[]
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
  /**
   * Whether there is a proxy in front whose `X-Forwarded-Host` and `X-Forwarded-For` are believed, or how
   * many there are. Only safe when clients cannot reach the server past them. Default false.
   */
  readonly trustProxy?: boolean | number
  /** Certificate and key, and whatever else `https.createServer` takes: HTTPS instead of HTTP. */
  readonly tls?: TlsOptions
  /**
   * A server of your own, HTTP or HTTPS, which other listeners may share: what is for our paths is taken, all
   * else left to them. One that listens already is not closed when the MCP server stops; its time limits are
   * yours. Not together with `tls`.
   */
  readonly server?: HttpServer
  /**
   * Bytes a message may have, in either direction: a longer one of a client is refused (413; a socket is
   * closed with 1009), a longer answer becomes an error. Default 16 MiB, and less where the heap of the
   * process is small.
   */
  readonly maxMessageBytes?: number
  /**
   * Bytes that may wait for a slow reader before notifications are dropped and, on a connection that has both
   * directions, nothing is taken from it until it has read all. One that reads nothing is cut off. Default 1
   * MiB.
   */
  readonly maxBufferedBytes?: number
  /** Connections at once; one more is turned away. Default 10,000. */
  readonly maxConnections?: number
  /**
   * Connections of one client at once; one more is answered 429 with Retry-After. A client is an address
   * (IPv6: a /64; behind proxies the one that `trustProxy` finds), and whoever `authenticate` finds. Default
   * 1,000, and as many as there may be from the addresses of this machine.
   */
  readonly maxConnectionsPerClient?: number
  /** Milliseconds a client may take for the headers of a request. Default 10,000. */
  readonly headersTimeout?: number
  /** Milliseconds a connection may last without having opened a session. Default 30,000. */
  readonly openTimeout?: number
}

type Special =
  | keyof AuthenticateOptions
  | 'maxConnectionsPerClient'
  | 'maxPendingBytesPerClient'
  | 'trustProxy'
  | 'tls'
  | 'server'

/** Checked options with every default filled in. */
export type ListenSettings = Readonly<Required<Omit<ListenOptions, Special>>> &
  AuthenticateSettings & {
    readonly tls: TlsOptions | undefined
    readonly server: HttpServer | undefined
    readonly maxConnectionsPerClient: number | undefined
    readonly maxPendingBytesPerClient: number | undefined
    /** How many proxies there are. */
    readonly trustProxy: number
  }

/** The names of these options. */
export const listenFields = [
  'port',
  'host',
  'allowedHosts',
  'allowedOrigins',
  'health',
  'drainDelay',
  'trustProxy',
  'tls',
  'server',
  'maxMessageBytes',
  'maxPendingBytes',
  'maxPendingBytesPerClient',
  'maxBufferedBytes',
  'maxConnections',
  'maxConnectionsPerClient',
  'headersTimeout',
  'openTimeout',
  'authenticate',
  'auth',
  'authenticateTimeout',
] as const

/** Reads these options. Throws BAD_OPTION, naming the field. */
export function readListenOptions(given: Readonly<Record<string, unknown>>): ListenSettings {
  const host = orElse(readText, '127.0.0.1')(given.host, 'host')
  const allowedHosts = orElse(readHosts, [])(given.allowedHosts, 'allowedHosts')
  checkReach({ host, allowedHosts })
  if (given.tls !== undefined && given.server !== undefined)
    throw badOption('tls', 'nothing beside server, which has its own', given.tls)
  return {
    port: orElse(readPort, 0)(given.port, 'port'),
    host,
    allowedHosts,
    allowedOrigins: orElse(readOrigins, [])(given.allowedOrigins, 'allowedOrigins'),
    health: orElse(readFlag, false)(given.health, 'health'),
    drainDelay: orElse(readDelay, 0)(given.drainDelay, 'drainDelay'),
    trustProxy: orElse(readProxies, 0)(given.trustProxy, 'trustProxy'),
    tls: orElse(readServerTls, undefined)(given.tls, 'tls'),
    server: orElse(readServer, undefined)(given.server, 'server'),
    maxMessageBytes: orElse(readCount, usualMessageBytes())(given.maxMessageBytes, 'maxMessageBytes'),
    maxPendingBytes: orElse(readCount, usualPendingBytes())(given.maxPendingBytes, 'maxPendingBytes'),
    maxPendingBytesPerClient: orElse(readCount, undefined)(
      given.maxPendingBytesPerClient,
      'maxPendingBytesPerClient',
    ),
    maxBufferedBytes: orElse(readCount, 1024 * 1024)(given.maxBufferedBytes, 'maxBufferedBytes'),
    maxConnections: orElse(readCount, 10_000)(given.maxConnections, 'maxConnections'),
    maxConnectionsPerClient: orElse(readCount, undefined)(
      given.maxConnectionsPerClient,
      'maxConnectionsPerClient',
    ),
    headersTimeout: orElse(readMs, 10_000)(given.headersTimeout, 'headersTimeout'),
    openTimeout: orElse(readMs, 30_000)(given.openTimeout, 'openTimeout'),
    ...readAuthenticate(given),
  }
}
