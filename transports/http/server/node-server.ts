import { EventEmitter } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { outside } from '../../../runtime/faults/containment.js'
import { metadataPaths } from '../../auth/metadata.js'
import { refuseLongHeaders } from '../listen/overflow.js'
import { ClientCounts } from '../../connections/client-counts.js'
import { watchConnections } from '../listen/watch.js'
import { originHere } from '../../contract/events.js'
import { checkReach } from '../listen/guard.js'
import type { HttpSettings } from './serve.js'
import type { HttpServer } from '../listen/options.js'
import { nodeMs } from '../../base/node-ms.js'
import { pathOf } from '../../base/path.js'

/** A server of Node that requests come from. */
export interface TakenServer {
  readonly server: HttpServer
  /** As asked for, or where the server listens already. */
  readonly settings: HttpSettings
  /** Whether it listened before: then it is not ours to close. */
  readonly isForeign: boolean
  /** Leaves the requests to others again. */
  readonly release: () => void
}

/**
 * Makes a server for a listener, or takes the given one's requests. Throws TransportError BAD_OPTION when it
 * can be reached by all.
 */
export async function takeServer(settings: HttpSettings, onRequest: RequestListener): Promise<TakenServer> {
  const { server: given } = settings
  if (given === undefined) {
    const server = await makeServer(settings, onRequest)
    server.maxConnections = settings.maxConnections
    refuseLongHeaders(server, settings.auth)
    const { trustProxy, maxConnectionsPerClient } = settings
    const clients = trustProxy === 0 ? new ClientCounts<Socket>(maxConnectionsPerClient) : undefined
    const release = watchConnections(server, { origin: originHere('http'), tells: true, clients })
    return { server, settings, isForeign: false, release }
  }
  const found = given.listening ? { ...settings, ...addressOf(given, settings) } : settings
  checkReach(found)
  const release = intercept(given, settings, onRequest)
  return { server: given, settings: found, isForeign: given.listening, release }
}

async function makeServer(settings: HttpSettings, onRequest: RequestListener): Promise<HttpServer> {
  const { headersTimeout, bodyTimeout, idleTimeout, tls } = settings
  const longest = Math.max(headersTimeout, bodyTimeout)
  const limits = {
    headersTimeout: nodeMs(headersTimeout),
    requestTimeout: nodeMs(longest),
    keepAliveTimeout: nodeMs(idleTimeout),
    connectionsCheckingInterval: nodeMs(Math.min(1_000, longest)),
    // whatever the process was started with: two readers of one stream must not see two requests
    insecureHTTPParser: false,
    // a missing host is refused like a foreign one
    requireHostHeader: false,
  }
  if (tls === undefined) return createServer(limits, onRequest)
  const https = await outside(() => import('node:https'))
  return https.createServer({ ...tls, ...limits }, onRequest)
}

function addressOf(server: HttpServer, { host, port }: HttpSettings): { host: string; port: number } {
  const address = server.address()
  return typeof address === 'object' && address !== null
    ? { host: address.address, port: address.port }
    : { host, port }
}

/**
 * Other listeners, also later ones, never see what is ours; without any, all is ours, so that nobody waits
 * for an answer.
 */
function intercept(server: HttpServer, settings: HttpSettings, onRequest: RequestListener): () => void {
  const emit = server.emit
  // several of our listeners may share one server: the first answers for what is nobody's
  const isAlone = emit === EventEmitter.prototype.emit
  let released = false
  const intercepting: typeof server.emit = (event: string | symbol, ...args: unknown[]) => {
    const [request, response] = args as Parameters<RequestListener>
    const isOurs =
      event === 'request' &&
      !released &&
      (isServed(request, settings) || (isAlone && server.listenerCount('request') === 0))
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

function isServed({ url }: IncomingMessage, { path, health, auth }: HttpSettings): boolean {
  const asked = pathOf(url)
  if (asked === path || (health && (asked === '/healthz' || asked === '/readyz'))) return true
  return auth !== undefined && metadataPaths(auth, path).includes(asked)
}
