import { allRevisions, handshakeRevisions } from '../../protocol/dialects/versions.js'
import type { ServerPort } from '../contract/contract.js'
import { InboundConnection } from './connection.js'
import { Post } from './post.js'
import { receive, type Reception } from './receive.js'
import type { Services } from './services.js'

/** What a listener is given: what comes in is read here, and served by `services`. */
export function serverPort(services: Services): ServerPort {
  const { exchange } = services
  const revisions = services.revisions ?? (exchange === undefined ? handshakeRevisions : allRevisions)
  let isDraining = false
  const reception: Reception = { services, revisions, isDraining: () => isDraining }
  const endSubscriptions = (): void => services.endSubscriptions?.()
  return Object.freeze({
    revisions,
    streams: services.streams,
    values: services.values,
    receive: (inbound) => receive(inbound.text, new Post(inbound, reception), reception),
    connect: (connection) => new InboundConnection(connection, reception),
    subscribe: (sessionId, sink, peer) => services.attach(sessionId, sink, peer),
    async admit(sessionId, peer, isShort) {
      if (!isShort || services.knows?.(sessionId) === false) await services.admit?.(sessionId, peer)
    },
    close: (sessionId, peer) => services.close(sessionId, peer),
    problem: () => services.problem?.(),
    endSubscriptions,
    drain() {
      isDraining = true
      endSubscriptions()
    },
    handOver: services.handOver,
    handedOver: services.handedOver,
  } satisfies ServerPort)
}
