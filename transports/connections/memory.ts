import type { Message } from '../../protocol/wire/jsonrpc.js'
import { notSent } from '../contract/message-sizes.js'
import { type Accepted, bindConnections, type Connections } from './connections.js'
import type {
  ClientTransport,
  Link,
  LinkEvents,
  LinkScope,
  Peer,
  ServerTransport,
} from '../contract/contract.js'
import { type Principal, readPrincipal } from '../contract/principal.js'
import { TransportError } from '../base/errors.js'
import { readFields } from '../base/read-option.js'

/** Two ends of one transport within a process. */
export interface MemoryTransport {
  /** For `startServer`: takes the connections of all clients; one server at a time. */
  readonly serve: ServerTransport
  /** For `startClient`: each client that connects has a session of its own. */
  readonly connect: ClientTransport
  /** The same for a client of this user, as a listener's `authenticate` would say it. Throws BAD_OPTION. */
  connectAs(principal: Principal): ClientTransport
}

/** How the two ends of a memory transport know each other. */
export interface MemoryOptions {
  /** Whose the clients of `connect` are: their scopes are checked. Default: nobody's, and trusted with all. */
  readonly principal?: Principal
}

const nowhere = Object.freeze({ transport: 'memory', headers: Object.freeze({}), remoteAddress: undefined })
const trusted: Peer = Object.freeze({ ...nowhere, trusted: true })

/**
 * A server and its clients in one process, without a port: for tests, and for programs that have both.
 * Messages pass as JSON texts, as on a wire. A client that finds no server, or loses it, tries again like any
 * other. While a server starts again, at most 1,000 messages of a client wait; more are refused with
 * SEND_FAILED. Throws BAD_OPTION.
 */
export function memory(options: MemoryOptions = {}): MemoryTransport {
  readFields(options, 'memory', ['principal'])
  let place: Connections | undefined
  const connectFrom = (peer: Peer): ClientTransport =>
    Object.freeze({
      name: 'memory',
      connect: (events: LinkEvents, scope: LinkScope) => new MemoryLink(place, peer, events, scope),
    })
  const connectAs = (principal: Principal): ClientTransport =>
    connectFrom(Object.freeze({ ...nowhere, principal: readPrincipal(principal) }))
  return Object.freeze({
    serve: Object.freeze({
      name: 'memory',
      async bind(scope: LinkScope) {
        if (place !== undefined) {
          const message = 'this memory transport has a server already: make one for each'
          throw new TransportError('LISTEN_FAILED', message)
        }
        const connections = bindConnections(scope)
        place = connections
        scope.own(() => {
          place = undefined
        })
        return connections
      },
    }),
    connect: options.principal === undefined ? connectFrom(trusted) : connectAs(options.principal),
    connectAs,
  })
}

class MemoryLink implements Link {
  readonly #events: LinkEvents
  #accepted: Accepted | undefined
  #paused = false
  #over = false

  constructor(place: Connections | undefined, peer: Peer, events: LinkEvents, scope: LinkScope) {
    this.#events = events
    if (place === undefined) this.#failed('CONNECT_FAILED', 'no server listens on this memory transport')
    else this.#begin(place, peer, scope)
  }

  #begin(place: Connections, peer: Peer, scope: LinkScope): void {
    const events = this.#events
    scope.own(() => this.#end())
    this.#accepted = place.accept({
      peer,
      isStalled: false,
      send: (text) => {
        if (!this.#over) events.message(text)
      },
      pause: () => {
        this.#paused = true
      },
      resume: () => {
        this.#paused = false
      },
      close: (why) => this.#failed('CONNECTION_LOST', `the server ended the connection: ${why}`),
    })
    if (!this.#over) events.opened()
  }

  send(text: string, message: Message): void {
    if (this.#over) return
    if (!this.#paused && this.#accepted?.message(text) === true) return
    const error = new TransportError('SEND_FAILED', 'too many messages wait for the server already', {
      retryable: true,
    })
    notSent(message, error, this.#events)
  }

  close(): void {
    if (this.#over) return
    this.#end()
    this.#events.closed({})
  }

  #end(): void {
    this.#over = true
    this.#accepted?.closed()
  }

  #failed(code: 'CONNECT_FAILED' | 'CONNECTION_LOST', message: string): void {
    if (this.#over) return
    this.#over = true
    this.#events.closed({ error: new TransportError(code, message, { retryable: true }) })
  }
}
