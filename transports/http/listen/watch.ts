import type { Socket } from 'node:net'
import type { ClientCounts } from '../../connections/client-counts.js'
import {
  addressOf,
  type ConnectionEvent,
  emitTransport,
  type ListenerOrigin,
  noteRefused,
} from '../../contract/events.js'
import type { HttpServer } from './options.js'

/** What is done about the connections of a server. */
export interface ConnectionWatch {
  readonly origin: ListenerOrigin
  /** Whether each connection is told of; not where what is on it has events of its own. */
  readonly tells: boolean
  /** How many connections each address has; undefined behind a proxy, from where all come. */
  readonly clients: ClientCounts<Socket> | undefined
}

/**
 * Tells of the connections of a server, and closes those of an address that has too many already, when they
 * come: without this one client might have all of them. Until the returned function is called.
 */
export function watchConnections(
  server: HttpServer,
  { origin, tells, clients }: ConnectionWatch,
): () => void {
  let count = 0
  const onConnection = (socket: Socket): void => {
    const { remoteAddress } = socket
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
