import { createServer, type Socket } from 'node:net'
import { ClientCounts } from '../../connections/client-counts.js'
import type { LinkScope } from '../../contract/contract.js'
import { noteRefused, originHere } from '../../contract/events.js'
import type { SharedAddress } from '../../contract/sharing.js'
import { watchDescriptors } from './descriptors.js'
import { checkReach } from './guard.js'
import { listen, urlOf } from './listening.js'
import type { ListenSettings } from './options.js'
import type { ConnectionLimits } from './sharing.js'

interface SharedPort {
  readonly settings: ListenSettings & { readonly path: string }
  readonly name: string
  readonly scheme: string
  readonly limits: ConnectionLimits
}

/**
 * Takes a port whose connections other processes serve: nothing is read here, and TLS is theirs. Those above
 * a limit are closed. Rejects with TransportError LISTEN_FAILED, and with BAD_OPTION when it can be reached
 * by all.
 */
export async function listenForAll(
  { settings, name, scheme, limits }: SharedPort,
  scope: LinkScope,
  take: (socket: Socket, ended: () => void) => void,
): Promise<SharedAddress> {
  const { host, tls } = settings
  checkReach(settings)
  const server = createServer({ pauseOnConnect: true, noDelay: true })
  const admit = limitConnections(limits, name)
  /** Connections that no process has taken yet. */
  const here = new Set<Socket>()
  const look = watchDescriptors(scope.world)
  const onConnection = scope.bind((socket: Socket) => {
    // without a listener an end before anybody takes it would be an uncaught error
    socket.on('error', () => {})
    look(socket)
    const ended = admit(socket)
    if (ended === undefined) return void socket.destroy()
    here.add(socket)
    socket.once('close', () => here.delete(socket))
    take(socket, ended)
  })
  server.on('connection', onConnection)
  scope.own(() => {
    server.close()
    for (const socket of here) socket.destroy()
  })
  const port = await listen(server, settings, scope)
  const url = urlOf(tls === undefined ? scheme : `${scheme}s`, { host, port }, settings)
  return Object.freeze({
    host,
    port,
    url,
    drainDelay: settings.drainDelay,
    stopListening: () => void (server.listening && server.close()),
  })
}

/** Counts connections until they have ended; for one too many it tells subscribers, and answers nothing. */
function limitConnections(
  { all, client }: ConnectionLimits,
  name: string,
): (socket: Socket) => (() => void) | undefined {
  const origin = originHere(name)
  const clients = client && new ClientCounts<object>(...client)
  const counted = new Set<object>()
  return ({ remoteAddress }) => {
    const connection = {}
    const isOne = clients?.enterFrom(remoteAddress, connection) ?? true
    if (!isOne || counted.size >= all) {
      clients?.leave(connection)
      noteRefused(origin, remoteAddress, {
        reason: isOne ? 'limit' : 'client_limit',
      })
      return undefined
    }
    counted.add(connection)
    return () => {
      counted.delete(connection)
      clients?.leave(connection)
    }
  }
}
