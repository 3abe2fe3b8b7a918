import type { Socket } from 'node:net'
import { ClientCounts } from '../../connections/client-counts.js'
import type { LinkScope } from '../../contract/contract.js'
import type { SharedConnections } from '../../contract/sharing.js'
import { type ServerPlan, takeServer } from '../listen/node-server.js'
import { connectionLimits } from '../listen/sharing.js'
import { shareLog } from '../streams/shared-log.js'
import type { HttpSettings } from './options.js'
import { HttpSocket } from './port.js'

/**
 * Takes a port, or the connections of `source`, and gives it back with the scope. Rejects with TransportError
 * LISTEN_FAILED.
 */
export async function bindHttpSocket(
  settings: HttpSettings,
  scope: LinkScope,
  source?: SharedConnections,
): Promise<HttpSocket> {
  const { path, timeouts } = settings
  const { all, client } = connectionLimits(settings)
  const socket = new HttpSocket(settings, scope, shareLog)
  const plan: ServerPlan = {
    paths: [path],
    onRequest: (request, response) => socket.take(request, response),
    pages: () => socket.pages,
    problem: () => socket.problem,
    requestTimeout: timeouts.body,
    maxConnections: all,
    // whoever has the port counts them for all processes
    clients: source === undefined && client ? new ClientCounts<Socket>(...client) : undefined,
    watchesGiven: false,
    origin: socket.origin,
    tells: true,
  }
  const server = await takeServer(settings, scope, plan, source)
  const { retire } = server
  socket.server = server
  if (retire !== undefined)
    socket.retire = (ms) => {
      socket.beginRetiring()
      return retire(ms)
    }
  scope.own(() => socket.close())
  return socket
}
