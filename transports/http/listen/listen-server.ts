import { EventEmitter } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { outside } from '../../../runtime/faults/containment.js'
import { denialOf, type Denial, identify } from '../../auth/authenticate.js'
import { answerMetadata, metadataPaths } from '../../auth/metadata.js'
import { refuseLongHeaders } from './overflow.js'
import { ClientCounts, usualPerClient } from '../../connections/client-counts.js'
import { watchConnections } from './watch.js'
import type { LinkScope, Peer } from '../../contract/contract.js'
import { TransportError } from '../../base/errors.js'
import { isKeptOut, noteRefused, originHere } from '../../contract/events.js'
import { checkReach, createGuard, guardedHeaders } from './guard.js'
import { answerHealth } from './health.js'
import type { HttpServer } from './options.js'
import { forwarded, withoutToken } from './peer.js'
import type { ListenSettings } from './options.js'
import { nodeMs } from '../../base/node-ms.js'
import { keyOfPrincipal } from '../../contract/principal.js'
import { pathOf } from '../../base/path.js'

/** For those that are to be turned away with a status. */
const spareConnections = 100

/** Takes an upgrade. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** What is served on a port. */
export interface ListenPlan {
  /** What its peers come through. */
  readonly transport: string
  /** The paths that are ours; on a server of our own all others are, too. */
  readonly paths: readonly string[]
  readonly onRequest: RequestListener
  /** Whether new connections are taken and served, for `/readyz`. */
  isReady(): boolean
  readonly onUpgrade?: UpgradeListener
}

/** Why a request was not let in. */
export interface Denied {
  readonly denial: Omit<Denial, 'status' | 'problem'> & { readonly status: number }
}

/** A port with an HTTP server on it. */
export interface ListenServer {
  readonly port: number
  /** Whether new connections are taken. */
  readonly isListening: boolean
  /** The address of a path, as clients on this machine or beyond it write it. */
  url(scheme: 'http' | 'ws', path: string): string
  /** Says why a request is kept out, or undefined when it may pass. */
  check(request: IncomingMessage): string | undefined
  /**
   * Where a request comes from and who sends it, or why that one is not let in, which subscribers have been
   * told then; never rejects.
   */
  identify(request: IncomingMessage): Promise<Peer | Denied>
  /** Counts a connection of this client until `leave`; false when that is one too many. */
  enter(peer: Peer, connection: object): boolean
  leave(connection: object): void
  /** Tells subscribers that a request was kept out. */
  noteRefused(request: IncomingMessage, status: number): void
  /** Takes no new connections; open ones go on. */
  stopListening(): void
}

/**
 * Takes a port, or what is ours on the server that is given. It is freed with `scope`, and what is open on it
 * cut; a server that was listening before is left as it was. Rejects with TransportError LISTEN_FAILED, and
 * with BAD_OPTION when it can be reached by all.
 */
export async function listenOn(
  settings: ListenSettings,
  scope: LinkScope,
  plan: ListenPlan,
): Promise<ListenServer> {
  await settings.auth?.verify.prepare?.()
  const server = settings.server ?? (await makeServer(settings))
  const isForeign = server.listening
  const release = take(server, scope, withMetadata(settings.health ? withHealth(plan) : plan, settings))
  if (settings.server === undefined) refuseLongHeaders(server, settings.auth)
  scope.own(() => {
    release()
    return isForeign ? undefined : close(server)
  })
  const { maxConnectionsPerClient: max, trustProxy } = settings
  const clients = new ClientCounts<object>(max)
  // each stream may have one more, to post on
  const perClient = [max && 2 * max + spareConnections, 2 * usualPerClient + spareConnections] as const
  const sockets = trustProxy === 0 ? new ClientCounts<Socket>(...perClient) : undefined
  const origin = originHere(plan.transport)
  if (!isForeign) scope.own(watchConnections(server, { origin, tells: false, clients: sockets }))
  if (!isForeign) {
    await listen(server, settings)
    // a connection that could not be accepted ends nothing; the scope reports it
    const failed = scope.bind((error: Error) => {
      throw error
    })
    server.on('error', failed)
    scope.own(() => void server.off('error', failed))
  }
  const { host, port } = addressOf(server, settings, isForeign)
  if (isForeign) checkReach({ host, allowedHosts: settings.allowedHosts })
  const guard = createGuard({ ...settings, host })
  const secure = 'setSecureContext' in server ? 's' : ''
  const report = scope.bind((error: unknown) => {
    throw error
  })
  let isListening = true
  return {
    port,
    get isListening() {
      return isListening && server.listening
    },
    url: (scheme, path) => `${scheme}${secure}://${shownHost(host, settings.allowedHosts)}:${port}${path}`,
    check: (request) => guard(guardedHeaders(request, settings.trustProxy)),
    async identify(request) {
      const peer = peerOf(plan.transport, request, settings.trustProxy)
      if (settings.authenticate === undefined) return peer
      try {
        const principal = await identify(peer, settings)
        const headers = settings.auth === undefined ? peer.headers : withoutToken(request.headers)
        return Object.freeze({ ...peer, headers, principal })
      } catch (error) {
        const denial = denialOf(error)
        if (denial === undefined) {
          report(error)
          return { denial: { status: 500, message: 'Internal error', headers: {} } }
        }
        const { status, problem } = denial
        if (isKeptOut(status)) noteRefused(origin, peer.remoteAddress, { status, problem })
        return { denial }
      }
    },
    enter(peer, connection) {
      const { remoteAddress, principal } = peer
      const isOne = clients.enterFrom(remoteAddress, connection)
      return isOne && (principal === undefined || clients.enter(keyOfPrincipal(principal), connection))
    },
    leave: (connection) => clients.leave(connection),
    noteRefused(request, status) {
      const { remoteAddress } = peerOf(plan.transport, request, settings.trustProxy)
      noteRefused(origin, remoteAddress, { status })
    },
    stopListening() {
      isListening = false
      if (!isForeign && server.listening) server.close()
    },
  }
}

async function makeServer(settings: ListenSettings): Promise<HttpServer> {
  const { headersTimeout, tls } = settings
  const limits = {
    headersTimeout: nodeMs(headersTimeout),
    requestTimeout: nodeMs(Math.max(30_000, headersTimeout)),
    connectionsCheckingInterval: nodeMs(Math.min(1_000, headersTimeout)),
    keepAliveTimeout: 5_000,
    insecureHTTPParser: false,
    // a missing host is refused like a foreign one
    requireHostHeader: false,
  }
  const https = tls === undefined ? undefined : await outside(() => import('node:https'))
  const server = https?.createServer({ ...tls, ...limits }) ?? createServer(limits)
  // each may have one more connection, to post on
  server.maxConnections = 2 * settings.maxConnections + spareConnections
  return server
}

function withHealth({ paths, onRequest, ...plan }: ListenPlan): ListenPlan {
  return {
    ...plan,
    paths: [...paths, '/healthz', '/readyz'],
    onRequest(request, response) {
      if (!answerHealth(request, response, plan.isReady())) onRequest(request, response)
    },
  }
}

function withMetadata(plan: ListenPlan, { auth, server }: ListenSettings): ListenPlan {
  const { paths, onRequest } = plan
  const [path = '/'] = paths
  if (auth === undefined) return plan
  return {
    ...plan,
    paths: [...paths, ...metadataPaths(auth, path)],
    onRequest(request, response) {
      if (!answerMetadata(request, response, { auth, path, isShared: server !== undefined }))
        onRequest(request, response)
    },
  }
}

/**
 * Other listeners, also later ones, never see what is ours; where there are none, all is ours, so that nobody
 * waits for an answer.
 */
function take(server: HttpServer, scope: LinkScope, plan: ListenPlan): () => void {
  const { paths, onRequest, onUpgrade } = plan
  const { emit } = server
  // several of our listeners may share one server: the first answers for what is nobody's
  const isFirst = emit === EventEmitter.prototype.emit
  const isOurs = ({ url }: IncomingMessage): boolean => paths.includes(pathOf(url))
  const takeRequest = scope.bind(onRequest)
  let released = false
  const intercepting: typeof server.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event !== 'request' || released) return Reflect.apply(emit, server, [event, ...args])
    const [request, response] = args as Parameters<RequestListener>
    if (!isOurs(request) && !(isFirst && server.listenerCount('request') === 0))
      return Reflect.apply(emit, server, [event, ...args])
    takeRequest(request, response)
    return true
  }
  const takeUpgrade = scope.bind((...args: Parameters<UpgradeListener>) => {
    if (isOurs(args[0]) || server.listenerCount('upgrade') === 1) onUpgrade?.(...args)
  })
  server.emit = intercepting
  // Node does not even emit an upgrade that nobody listens for
  if (onUpgrade !== undefined) server.on('upgrade', takeUpgrade)
  return () => {
    released = true
    server.off('upgrade', takeUpgrade)
    if (server.emit === intercepting) server.emit = emit
  }
}

/** Where a server of somebody else listens is for its address to say; ours is where it was asked to be. */
function addressOf(
  server: HttpServer,
  { host }: ListenSettings,
  isForeign: boolean,
): { host: string; port: number } {
  const address = server.address()
  if (typeof address !== 'object' || address === null) return { host, port: 0 }
  return { host: isForeign ? address.address : host, port: address.port }
}

function peerOf(transport: string, request: IncomingMessage, proxies: number): Peer {
  const remoteAddress = forwarded(request, 'x-forwarded-for', proxies) ?? request.socket.remoteAddress
  return Object.freeze({ transport, headers: request.headers, remoteAddress })
}

function listen(server: HttpServer, { port, host }: ListenSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const why = cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message
      const data = { host, port, code: cause.code }
      const message = `cannot listen on ${host} port ${port}: ${why}`
      reject(new TransportError('LISTEN_FAILED', message, { cause, data }))
    }
    server.once('error', failed)
    server.listen({ port, host }, () => {
      server.off('error', failed)
      resolve()
    })
  })
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

function shownHost(host: string, allowedHosts: readonly string[]): string {
  const isAny = host === '0.0.0.0' || host === '::'
  const named = allowedHosts.find((name) => name !== '*') ?? '127.0.0.1'
  const shown = isAny ? named.replace(/:\d+$/, '') : host
  return shown.includes(':') && !shown.startsWith('[') ? `[${shown}]` : shown
}
