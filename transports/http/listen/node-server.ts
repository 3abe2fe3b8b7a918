import { EventEmitter } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { outside } from '../../../runtime/faults/containment.js'
import { noteConnection } from '../../../runtime/time/loop-share.js'
import { challengeOf } from '../../auth/scopes.js'
import { answerMetadata, metadataPaths } from '../../auth/metadata.js'
import type { AuthSettings } from '../../auth/options.js'
import { contained } from '../../base/contained.js'
import { nodeMs } from '../../base/node-ms.js'
import { badOption } from '../../base/read-option.js'
import { pathOf } from '../../base/target.js'
import type { ClientCounts } from '../../connections/client-counts.js'
import type { LinkScope } from '../../contract/contract.js'
import {
  addressOf,
  type ConnectionEvent,
  emitTransport,
  type ListenerOrigin,
  noteRefused,
} from '../../contract/events.js'
import type { ServerPages } from '../../contract/pages.js'
import type { SharedConnections } from '../../contract/sharing.js'
import { answerPage } from './answer-page.js'
import { watchDescriptors } from './descriptors.js'
import { Metrics } from './metrics.js'
import { listenForMetrics } from './metrics-port.js'
import { addressBehind } from './peer.js'
import { checkReach } from './guard.js'
import { listen, portOf, urlOf } from './listening.js'
import { takingTurns } from './pipelined.js'
import type { HttpServer, ListenSettings } from './options.js'

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void | Promise<void>

/** What is served on a server of Node, and the limits of one of our own. */
export interface ServerPlan {
  /** The paths that are ours, that of MCP first; on a server of our own all others are, too. */
  readonly paths: readonly [string, ...string[]]
  readonly onRequest: RequestListener
  readonly onUpgrade?: UpgradeListener
  /** Pages that the server has beside MCP. */
  readonly pages?: (() => ServerPages | undefined) | undefined
  /** Why requests are not taken and served, for `/readyz`; undefined: they are. */
  problem(): string | undefined
  /** Milliseconds that a client may take for a whole request. */
  readonly requestTimeout: number
  /** Connections at once; further ones are closed when they come. */
  readonly maxConnections: number
  /** How many connections each address has; undefined behind a proxy, from where all come. */
  readonly clients: ClientCounts<Socket> | undefined
  /** Whether connections of a given server are watched, too, where it listens for us alone. */
  readonly watchesGiven: boolean
  readonly origin: ListenerOrigin
  /** Whether each connection is told of; not where what is on it has events of its own. */
  readonly tells: boolean
}

/** A port with a server of Node on it. */
export interface NodeServer {
  /** Where it listens: as asked for, or where a server of somebody else does. */
  readonly host: string
  readonly port: number
  readonly isListening: boolean
  /** The address of a path, as clients on this machine or beyond it write it. */
  url(scheme: 'http' | 'ws', path: string): string
  /** Takes no new connections; open ones go on. A server that listened before does, too. */
  stopListening(): void
  /**
   * Ends each connection with the next answer on it, those without a request after so many milliseconds at
   * the latest, and resolves when none is left. Only where connections come from another process.
   */
  readonly retire?: (ms: number) => Promise<void>
}

/**
 * Takes a port, or what is ours on the server that is given, or the connections of `source`. It is freed with
 * `scope`, and what is open on it cut; a server that listened before is left as it was. Rejects with
 * TransportError LISTEN_FAILED, and with BAD_OPTION when it can be reached by all.
 */
export async function takeServer(
  settings: ListenSettings,
  scope: LinkScope,
  plan: ServerPlan,
  source?: SharedConnections,
): Promise<NodeServer> {
  await settings.auth?.prepare()
  const counted = settings.metrics === false ? undefined : scope.own(new Metrics())
  const metrics = settings.metrics === true ? counted : undefined
  if (counted !== undefined && typeof settings.metrics === 'object') {
    if (source !== undefined) throw badOption('metrics', 'true where several processes serve', 'a port')
    await listenForMetrics(settings.metrics, scope, (request, response) =>
      answerMetrics(request, response, counted),
    )
  }
  const report = scope.bind((error: unknown) => {
    throw error
  })
  const onRequest = contained(withOwnPaths(settings, plan, metrics), report)
  if (source !== undefined) {
    const server = await makeServer(settings, plan, onRequest, scope)
    const releases = [
      takeUpgrades(server, plan, report),
      watchConnections(server, plan, scope),
      watchHandshakes(server),
    ]
    return feed(server, scope, source, { releases, keepAliveTimeout: settings.timeouts.keepAlive })
  }
  const server = settings.server ?? (await makeServer(settings, plan, onRequest, scope))
  const isForeign = server.listening
  const asked = isForeign ? server.address() : null
  const host = typeof asked === 'object' && asked !== null ? asked.address : settings.host
  checkReach({ host, allowedHosts: settings.allowedHosts })
  const releases = [takeUpgrades(server, plan, report)]
  if (settings.server !== undefined) releases.push(intercept(server, settings, { ...plan, onRequest }))
  if (settings.server === undefined || (plan.watchesGiven && !isForeign))
    releases.push(watchConnections(server, plan, scope))
  if (!isForeign) releases.push(watchHandshakes(server))
  else {
    server.on('connection', noteConnection)
    releases.push(() => void server.off('connection', noteConnection))
  }
  scope.own(() => {
    for (const release of releases) release()
    return isForeign ? undefined : close(server)
  })
  const port = isForeign ? portOf(server) : await listen(server, settings, scope)
  const place = { host, port }
  const secure = 'setSecureContext' in server ? 's' : ''
  let isListening = true
  return {
    ...place,
    get isListening() {
      return isListening && server.listening
    },
    url: (scheme, path) => urlOf(`${scheme}${secure}`, place, { ...settings, path }),
    stopListening() {
      isListening = false
      if (!isForeign && server.listening) server.close()
    },
  }
}

/** Milliseconds in which a request may still come on a connection that was idle when its listener retired. */
const retireTime = 5_000

/**
 * Milliseconds after its first request that a connection is kept where several processes serve: its client opens
 * another one, and those of a process that was replaced spread again.
 */
const maxAge = 60_000

/** Gives a server that does not listen the connections of another process. */
function feed(
  server: HttpServer,
  scope: LinkScope,
  source: SharedConnections,
  { releases, keepAliveTimeout }: { releases: readonly (() => void)[]; readonly keepAliveTimeout: number },
): NodeServer {
  const { host, port, url } = source.address
  const open = new Set<Socket>()
  const waiting = new Set<() => void>()
  // Node watches over time limits from then on; without this a client might take as long as it likes
  server.emit('listening')
  let isListening = true
  const take = scope.bind((socket: Socket) => {
    if (socket.destroyed) return
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0) for (const resolve of waiting) resolve()
    })
    // as Node has it for what it accepts itself
    socket.allowHalfOpen = true
    server.emit('connection', socket)
    socket.resume()
  })
  const { world } = scope
  const begunAt = new WeakMap<object, number>()
  const spread: RequestListener = ({ socket }, response) => {
    const begun = begunAt.get(socket)
    if (begun === undefined) begunAt.set(socket, world.now())
    else if (world.now() - begun >= maxAge) response.shouldKeepAlive = false
  }
  server.prependListener('request', spread)
  const stop = source.take(take)
  const stopListening = (): void => {
    if (isListening) stop()
    isListening = false
  }
  const whenEmpty = (): Promise<void> =>
    new Promise((resolve) => {
      if (open.size === 0) resolve()
      else waiting.add(resolve)
    })
  scope.own(() => {
    stopListening()
    for (const release of releases) release()
    server.close()
    for (const socket of open) socket.destroy()
    return whenEmpty()
  })
  return {
    host,
    port,
    get isListening() {
      return isListening
    },
    url: () => url,
    stopListening,
    retire(ms) {
      /*
       * A connection without a request keeps its time: the client may be writing one at this moment, and
       * would not know whether it was taken. One that gets an answer waits for it, and reads there that it is
       * over.
       */
      server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false
      })
      // a slow process reads first what came meanwhile: its timers are before its sockets
      const close = (): void => void world.setImmediate(() => server.closeIdleConnections())
      scope.clock.setTimeout(close, Math.min(retireTime, keepAliveTimeout, ms))
      return whenEmpty()
    },
  }
}

async function makeServer(
  { timeouts, tls, auth }: ListenSettings,
  { requestTimeout, maxConnections }: ServerPlan,
  onRequest: RequestListener,
  { world }: LinkScope,
): Promise<HttpServer> {
  const limits = {
    headersTimeout: nodeMs(timeouts.headers),
    requestTimeout: nodeMs(Math.max(timeouts.headers, requestTimeout)),
    keepAliveTimeout: nodeMs(timeouts.keepAlive),
    connectionsCheckingInterval: nodeMs(Math.min(1_000, timeouts.headers)),
    // whatever the process was started with: two readers of one stream must not see two requests
    insecureHTTPParser: false,
    // a missing host is refused like a foreign one
    requireHostHeader: false,
  }
  const { createServer } = process.getBuiltinModule('node:http')
  const https = tls === undefined ? undefined : await outside(() => import('node:https'))
  const inTurn = takingTurns(world)
  const take = inTurn(onRequest)
  const server = https?.createServer({ ...tls, ...limits }, take) ?? createServer(limits, take)
  // without a listener Node answers by itself, whatever comes
  server.on('checkExpectation', inTurn(refuseExpectation))
  server.maxConnections = maxConnections
  if (auth !== undefined) refuseLongHeaders(server, auth)
  return server
}

/** An expectation other than 100-continue (RFC 9110, section 10.1.1). */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, { 'content-length': '0', connection: 'close' }).end()
}

/** Answers health checks, and whoever collects metrics or looks for the authorization server. */
function withOwnPaths(
  { auth, health, server, trustProxy }: ListenSettings,
  plan: ServerPlan,
  metrics: Metrics | undefined,
): RequestListener {
  const {
    paths: [path],
    onRequest,
    pages,
  } = plan
  if (!health && auth === undefined && metrics === undefined && pages === undefined) return onRequest
  const metadata = { auth, path, isShared: server !== undefined }
  return (request, response) => {
    if (health && answerHealth(request, response, plan.problem())) return
    if (metrics !== undefined && answerMetrics(request, response, metrics)) return
    if (answerMetadata(request, response, metadata)) return
    if (auth?.own?.has(pathOf(request.url)))
      auth.own.take(request, response, addressBehind(request, trustProxy))
    else if (!answerPage(pages?.(), request, response, { auth, trustProxy })) onRequest(request, response)
  }
}

/** Answers `/healthz` and `/readyz` for any host, since they say nothing else. False for other paths. */
function answerHealth(
  { url, method }: IncomingMessage,
  response: ServerResponse,
  problem: string | undefined,
): boolean {
  const path = pathOf(url)
  if (!healthPaths.includes(path)) return false
  const isRead = method === 'GET' || method === 'HEAD'
  const isUp = path === '/healthz' || problem === undefined
  const [status, text] = !isRead ? [405, 'expected GET\n'] : isUp ? [200, 'ok\n'] : [503, `${problem}\n`]
  response.writeHead(status, {
    'content-type': 'text/plain',
    'content-length': String(text.length),
    'cache-control': 'no-store',
    ...(status === 405 && { allow: 'GET, HEAD' }),
    ...(status === 503 && { connection: 'close' }),
  })
  response.end(method === 'HEAD' ? undefined : text)
  return true
}

/** Answers `/metrics`. False for other paths. */
function answerMetrics(
  { url, method }: IncomingMessage,
  response: ServerResponse,
  metrics: Metrics,
): boolean {
  if (pathOf(url) !== metricsPath) return false
  const isRead = method === 'GET' || method === 'HEAD'
  const text = isRead ? metrics.text() : 'expected GET\n'
  response.writeHead(isRead ? 200 : 405, {
    'content-type': isRead ? 'text/plain; version=0.0.4; charset=utf-8' : 'text/plain',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    ...(!isRead && { allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? undefined : text)
  return true
}

const metricsPath = '/metrics'
const healthPaths: readonly string[] = ['/healthz', '/readyz']

/** Other listeners never see what is ours; without others all is ours, so that nobody waits in vain. */
function intercept(
  server: HttpServer,
  { auth, health, metrics }: ListenSettings,
  { paths, onRequest, pages }: ServerPlan,
): () => void {
  const own = [...(health ? healthPaths : []), ...(metrics === true ? [metricsPath] : [])]
  const ours = new Set([...paths, ...metadataPaths(auth, paths[0]), ...own])
  const { emit } = server
  // several of our listeners may share one server: the first answers for what is nobody's
  const isFirst = emit === EventEmitter.prototype.emit
  let released = false
  const intercepting: typeof server.emit = (event: string | symbol, ...args: unknown[]) => {
    const [request, response] = args as Parameters<RequestListener>
    const isOurs =
      event === 'request' &&
      !released &&
      (ours.has(pathOf(request.url)) ||
        auth?.own?.has(pathOf(request.url)) === true ||
        pages?.()?.has(pathOf(request.url)) === true ||
        (isFirst && server.listenerCount('request') === 0))
    if (!isOurs) return Reflect.apply(emit, server, [event, ...args])
    onRequest(request, response)
    return true
  }
  server.emit = intercepting
  return () => {
    released = true
    if (server.emit === intercepting) server.emit = emit
  }
}

/** Node does not even emit an upgrade that nobody listens for. */
function takeUpgrades(server: HttpServer, plan: ServerPlan, report: (error: unknown) => void): () => void {
  const { paths, onUpgrade } = plan
  if (onUpgrade === undefined) return () => {}
  const take: UpgradeListener = async (request, socket, head) => {
    if (!paths.includes(pathOf(request.url)) && server.listenerCount('upgrade') > 1) return
    socket.on('error', () => {}) // without a listener it would be an uncaught error
    try {
      await onUpgrade(request, socket, head)
    } catch (error) {
      socket.destroy()
      report(error)
    }
  }
  server.on('upgrade', take)
  return () => void server.off('upgrade', take)
}

/** Tells of connections, and closes new ones of an address that has too many. */
function watchConnections(
  server: HttpServer,
  { origin, tells, clients }: ServerPlan,
  { world }: LinkScope,
): () => void {
  let count = 0
  const look = watchDescriptors(world)
  const onConnection = (socket: Socket): void => {
    const { remoteAddress } = socket
    look(socket)
    const isOne = clients?.enterFrom(remoteAddress, socket) ?? true
    socket.once('close', () => clients?.leave(socket))
    if (!isOne) {
      noteRefused(origin, remoteAddress, { reason: 'client_limit' })
      return void socket.destroy()
    }
    if (!tells) return
    count += 1
    const connection = count
    const note = (type: ConnectionEvent['type']): void =>
      emitTransport('connection', () => ({
        ...origin,
        type,
        connection,
        remoteAddress: addressOf(remoteAddress),
      }))
    note('opened')
    socket.once('close', () => note('closed'))
  }
  const onDrop = (dropped?: { readonly remoteAddress?: string }): void =>
    noteRefused(origin, dropped?.remoteAddress, { reason: 'limit' })
  server.on('connection', onConnection)
  server.on('drop', onDrop)
  return () => {
    server.off('connection', onConnection)
    server.off('drop', onDrop)
  }
}

/** Cuts unfinished TLS handshakes when called: Node does not count them, and would wait two minutes. */
function watchHandshakes(server: HttpServer): () => void {
  if (!('setSecureContext' in server)) return () => {}
  const begun = new Map<string, Socket>()
  // the socket of TLS does not tell which one it is on
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  const onConnection = (socket: Socket): void => {
    const key = keyOf(socket)
    begun.set(key, socket)
    socket.once('close', () => begun.delete(key))
  }
  const onSecure = (socket: Socket): void => void begun.delete(keyOf(socket))
  server.on('connection', onConnection).on('secureConnection', onSecure)
  return () => {
    server.off('connection', onConnection).off('secureConnection', onSecure)
    for (const socket of begun.values()) socket.destroy()
  }
}

/** Answers headers beyond Node's 16 KiB as a listener with `auth` does without a token: 401. */
function refuseLongHeaders(server: HttpServer, auth: AuthSettings): void {
  const { emit } = server
  const told = {
    error: 'invalid_token',
    description: 'the headers are too long',
  } as const
  const challenge = challengeOf({ ...told, scopes: auth.firstScopes }, auth)
  const lines = ['HTTP/1.1 401 Unauthorized', `www-authenticate: ${challenge}`, 'content-length: 0']
  const answer = `${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`
  // not a listener: with one, Node would leave all other errors to it as well
  server.emit = (event: string | symbol, ...args: unknown[]) => {
    const [error, socket] = args as [{ readonly code?: unknown } | undefined, Duplex]
    if (event !== 'clientError' || error?.code !== 'HPE_HEADER_OVERFLOW')
      return Reflect.apply(emit, server, [event, ...args])
    if (socket.writable && !isAnswering(socket)) socket.end(answer, () => socket.destroy())
    else socket.destroy()
    return true
  }
}

/** Whether an answer to an earlier request has begun, which must not be written into. */
function isAnswering(socket: Duplex): boolean {
  const { _httpMessage: answer } = socket as {
    _httpMessage?: { readonly _headerSent?: boolean } | null
  }
  return answer?._headerSent === true
}

function close(server: HttpServer): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.once('close', resolve)
    if (!server.listening) server.getConnections((_, count) => count === 0 && resolve())
  })
  if (server.listening) server.close()
  server.closeAllConnections()
  return closed
}
