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
  readFields,
  readFlag,
  readGroup,
  readMs,
  readOptions,
  readPort,
  type Readers,
  type ReadWith,
  readText,
} from '../../base/read-option.js'
import type { AuthSettings } from '../../auth/options.js'
import { usualMessageBytes, usualPendingBytes } from '../../contract/message-sizes.js'
import { checkReach } from './guard.js'

export type HttpServer = Server | SecureServer

/** Where a listener is, whom it lets in, and what it takes. */
export interface ListenOptions extends AuthenticateOptions {
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
   * the event loop, memory) as Prometheus reads it, to any host: keep it from the outside. `{ port, host }`:
   * there, and not where MCP is served; `host` is 127.0.0.1 by default, and several processes cannot share
   * the port. Default false.
   */
  readonly metrics?: boolean | { readonly port: number; readonly host?: string }
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
  /** How much is taken at once. */
  readonly limits?: ListenLimitOptions
  /** How long clients may take. */
  readonly timeouts?: ListenTimeoutOptions
}

/** How much a listener takes at once. */
export interface ListenLimitOptions {
  /** Connections; one more is turned away. Default 10,000. */
  readonly connections?: number
  /**
   * Connections of one client; one more is answered 429 with Retry-After. A client is an address (IPv6: a /64;
   * behind proxies the one that `trustProxy` finds), and whoever `authenticate` finds. Default 1,000, and as
   * many as there may be from the addresses of this machine.
   */
  readonly connectionsPerClient?: number
  /**
   * Bytes a message may have, in either direction: a longer one of a client is refused (413; a socket is
   * closed with 1009), a longer answer becomes an error. Default 16 MiB, and less where the heap of the
   * process is small.
   */
  readonly messageBytes?: number
  /**
   * Bytes of messages that are being read or worked on, and of answers that wait for their readers, of all
   * clients together; a message beyond them is answered 503 with Retry-After. At least `messageBytes`.
   * Default an eighth of the heap that the process may have (512 MiB of 4 GiB).
   */
  readonly pendingBytes?: number
  /**
   * The same of one client, which is an address (IPv6: a /64) or whoever `authenticate` finds; beyond them
   * 429 with Retry-After. Default half of `pendingBytes`, and all of it for the addresses of this machine.
   */
  readonly pendingBytesPerClient?: number
  /**
   * Bytes that may wait for a slow reader before notifications are dropped and, on a connection that has both
   * directions, nothing is taken from it until it has read all. One that reads nothing is cut off. Default 1
   * MiB.
   */
  readonly bufferedBytes?: number
}

/** How long clients of a listener may take, in milliseconds. */
export interface ListenTimeoutOptions {
  /** For the headers of a request. Default 10,000. */
  readonly headers?: number
  /**
   * That a connection is kept open after an answer, for the next request on it. It has to be more than
   * proxies, balancers and agents in front keep theirs, or they send on one that is just closed. Default
   * 120,000: nginx and most balancers have 60 s, Go 90 s.
   */
  readonly keepAlive?: number
  /** That `authenticate` or `auth` may take. Default 5,000. */
  readonly authenticate?: number
}

/** The same, of a listener whose connections are sessions. */
export interface ConnectionListenOptions extends ListenOptions {
  readonly timeouts?: ConnectionTimeoutOptions
}

/** How long clients may take, in milliseconds, where their connections are sessions. */
export interface ConnectionTimeoutOptions extends ListenTimeoutOptions {
  /** That a connection may last without having opened a session. Default 30,000. */
  readonly open?: number
}

export type ListenSettings = Omit<ReadWith<typeof listenReaders>, keyof AuthenticateOptions> &
  AuthenticateSettings

export type ListenSettingsWith<Table extends Readers> = ListenSettings & ReadWith<Table>

/** A listener as its errors call it, and how it reads the option `auth`. */
export interface ListenerKind {
  readonly name: string
  readonly readAuth: (given: unknown) => AuthSettings
}

/** Reads the options of a listener: these, and those that `table` has readers for. Throws BAD_OPTION. */
export function readListenOptions<Table extends Readers>(
  options: unknown,
  table: Table,
  { name, readAuth }: ListenerKind,
): ListenSettingsWith<Table> {
  const all = { ...listenReaders, ...table }
  const read: ReadWith<typeof listenReaders> = readOptions(options, all, undefined, `${name}({ port: 3000 })`)
  const { host, allowedHosts, tls, server } = read
  if (tls !== undefined && server !== undefined)
    throw badOption('tls', 'nothing beside server, which has its own', tls)
  if (server === undefined) checkReach({ host, allowedHosts })
  return Object.freeze({ ...read, ...readAuthenticate(read, readAuth) }) as ListenSettingsWith<Table>
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

const readMetrics: Read<boolean | { readonly port: number; readonly host: string }> = (value, field) => {
  if (typeof value === 'boolean') return value
  const { port, host = '127.0.0.1' } = readFields(value, field, ['port', 'host'], `${field}.`)
  if (port === 0) throw badOption(`${field}.port`, 'a port from 1 to 65535, as nobody would find it', port)
  return { port: readPort(port, `${field}.port`), host: readText(host, `${field}.host`) }
}

/** Checked by `readAuthenticate`. */
const asGiven = (value: unknown): never => value as never

export const listenLimits = {
  connections: orElse(readCount, 10_000),
  connectionsPerClient: orElse(readCount, undefined),
  messageBytes: orElse(readCount, usualMessageBytes()),
  pendingBytes: orElse(readCount, usualPendingBytes()),
  pendingBytesPerClient: orElse(readCount, undefined),
  bufferedBytes: orElse(readCount, 1024 * 1024),
}

export const listenTimeouts = {
  headers: orElse(readMs, 10_000),
  keepAlive: orElse(readMs, 120_000),
  authenticate: orElse(readMs, 5_000),
}

export const connectionTimeouts = { ...listenTimeouts, open: orElse(readMs, 30_000) }

export const listenReaders = {
  port: orElse(readPort, 0),
  host: orElse(readText, '127.0.0.1'),
  allowedHosts: orElse(readHosts, []),
  allowedOrigins: orElse(readOrigins, []),
  health: orElse(readFlag, false),
  metrics: orElse(readMetrics, false),
  drainDelay: orElse(readDelay, 0),
  trustProxy: orElse(readProxies, 0),
  tls: orElse(readServerTls, undefined),
  server: orElse(readServer, undefined),
  limits: readGroup(listenLimits),
  timeouts: readGroup(listenTimeouts),
  authenticate: asGiven,
  auth: asGiven,
}
