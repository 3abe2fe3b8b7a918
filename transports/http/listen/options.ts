import type { Server } from 'node:http'
import type { Server as SecureServer, ServerOptions } from 'node:https'
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
  readDelay,
  readFlag,
  readMs,
  readOptions,
  readPort,
  type Readers,
  type ReadWith,
  readText,
} from '../../base/read-option.js'
import type { PendingOptions } from '../../connections/byte-budget.js'
import { usualMessageBytes, usualPendingBytes } from '../../contract/message-sizes.js'
import { checkReach } from './guard.js'

export type HttpServer = Server | SecureServer

/** Where a listener is, whom it lets in, and how much it takes. */
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
   * Which `Origin` headers are let in besides the server's own, such as `https://app.example.com`; `*` for
   * every web site, which is only safe where a request needs a token. Default none.
   */
  readonly allowedOrigins?: readonly string[]
  /**
   * Whether `/healthz` (200 while the process works) and `/readyz` (503 before it listens and while it stops)
   * are answered, to any host. Default false.
   */
  readonly health?: boolean
  /**
   * Whether `/metrics` answers what this program has counted (requests, calls, durations, sessions, restarts,
   * the event loop, memory) as Prometheus reads it, to any host: keep it from the outside. Default false.
   */
  readonly metrics?: boolean
  /**
   * Milliseconds between `/readyz` turning 503 and the end of listening when the server is stopped, so that a
   * load balancer has noticed; it is part of the server's `timeouts.drain`. Default 0.
   */
  readonly drainDelay?: number
  /**
   * Whether there is a proxy in front whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, or how
   * many there are. Only safe when clients cannot reach the server past them. `X-Forwarded-Host` is not
   * believed: a proxy has to pass on the `Host` that it was asked for. Default false.
   */
  readonly trustProxy?: boolean | number
  /** Certificate and key, and whatever else `https.createServer` takes: HTTPS instead of HTTP. */
  readonly tls?: ServerOptions
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
  /**
   * Milliseconds a connection is kept open after an answer, for the next request on it. It has to be more than
   * proxies, balancers and agents in front keep theirs, or they send on one that is just closed. Default
   * 120,000: nginx and most balancers have 60 s, Go 90 s.
   */
  readonly keepAliveTimeout?: number
}

/** The same, of a listener whose connections are sessions. */
export interface ConnectionListenOptions extends ListenOptions {
  /** Milliseconds a connection may last without having opened a session. Default 30,000. */
  readonly openTimeout?: number
}

export type ListenSettings = Omit<ReadWith<typeof listenReaders>, keyof AuthenticateOptions> &
  AuthenticateSettings

export type ListenSettingsWith<Table extends Readers> = ListenSettings & ReadWith<Table>

/** Reads the options of the listener `name`: these, and those that `table` has readers for. Throws BAD_OPTION. */
export function readListenOptions<Table extends Readers>(
  options: unknown,
  table: Table,
  name: string,
): ListenSettingsWith<Table> {
  const all = { ...listenReaders, ...table }
  const read: ReadWith<typeof listenReaders> = readOptions(options, all, undefined, `${name}({ port: 3000 })`)
  const { host, allowedHosts, tls, server } = read
  if (tls !== undefined && server !== undefined)
    throw badOption('tls', 'nothing beside server, which has its own', tls)
  if (server === undefined) checkReach({ host, allowedHosts })
  return Object.freeze({ ...read, ...readAuthenticate(read) }) as ListenSettingsWith<Table>
}

export const readPath: Read<string> = (value, field) => {
  if (typeof value === 'string' && /^\/[^?#\s]*$/.test(value)) return value
  throw badOption(field, 'a path such as /mcp', value)
}

const readProxies: Read<number> = (value, field) => {
  if (typeof value === 'boolean') return Number(value)
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
  throw badOption(field, 'true, false or a number of proxies', value)
}

const readServerTls: Read<ServerOptions> = (value, field) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw badOption(field, 'an object with cert and key, as https.createServer takes it', value)
}

const readServer: Read<HttpServer> = (value, field) => {
  const methods = ['address', 'close', 'emit', 'listen'] as const
  const server = value as Partial<HttpServer> | null | undefined
  if (methods.every((method) => typeof server?.[method] === 'function')) return server as HttpServer
  throw badOption(field, 'a server of node:http or node:https', value)
}

const hostName = /^(?:\*|(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?)$/i
const originName = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/i

/** Names as a `Host` header has them; `*` for all. */
const readHosts: Read<readonly string[]> = (value, field) =>
  readEach(value, field, 'hosts such as "mcp.example.com", "[::1]:8080" or "*"', (item) => {
    const found = hostName.exec(item)
    return found !== null && Number(found[1] ?? 0) <= 65_535 ? item : undefined
  })

/** Origins as browsers write them; `*` for all, `null` for documents that have none. */
const readOrigins: Read<readonly string[]> = (value, field) =>
  readEach(value, field, 'origins such as "https://app.example.com"', (item) => {
    if (item === '*' || item === 'null') return item
    if (!originName.test(item) || !URL.canParse(item)) return undefined
    const { protocol, origin } = new URL(item)
    return /^https?:$/.test(protocol) ? origin : item.toLowerCase()
  })

function readEach(
  value: unknown,
  field: string,
  what: string,
  read: (item: string) => string | undefined,
): readonly string[] {
  if (!Array.isArray(value)) throw badOption(field, `an array of ${what}`, value)
  return Object.freeze(
    value.map((item: unknown) => {
      const found = typeof item === 'string' ? read(item) : undefined
      if (found === undefined) throw badOption(field, `an array of ${what}`, item)
      return found
    }),
  )
}

/** Checked by `readAuthenticate`. */
const asGiven = (value: unknown): never => value as never

export const listenReaders = {
  port: orElse(readPort, 0),
  host: orElse(readText, '127.0.0.1'),
  allowedHosts: orElse(readHosts, []),
  allowedOrigins: orElse(readOrigins, []),
  health: orElse(readFlag, false),
  metrics: orElse(readFlag, false),
  drainDelay: orElse(readDelay, 0),
  trustProxy: orElse(readProxies, 0),
  tls: orElse(readServerTls, undefined),
  server: orElse(readServer, undefined),
  maxMessageBytes: orElse(readCount, usualMessageBytes()),
  maxPendingBytes: orElse(readCount, usualPendingBytes()),
  maxPendingBytesPerClient: orElse(readCount, undefined),
  maxBufferedBytes: orElse(readCount, 1024 * 1024),
  maxConnections: orElse(readCount, 10_000),
  maxConnectionsPerClient: orElse(readCount, undefined),
  headersTimeout: orElse(readMs, 10_000),
  keepAliveTimeout: orElse(readMs, 120_000),
  authenticate: asGiven,
  auth: asGiven,
  authenticateTimeout: asGiven,
}
