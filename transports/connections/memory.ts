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
import { TransportError } from '../base/errors.js'

/** Two ends of one transport within a process. */
export interface MemoryTransport {
  /** For `startServer`: takes the connections of all clients; one server at a time. */
  readonly serve: ServerTransport
  /** For `startClient`: each client that connects has a session of its own. */
  readonly connect: ClientTransport
}

const peer: Peer = Object.freeze({
  transport: 'memory',
  headers: Object.freeze({}),
  remoteAddress: undefined,
  trusted: true,
})

/**
 * A server and its clients in one process, without a port: for tests, and for programs that have both.
 * Messages pass as JSON texts, as on a wire. A client that finds no server, or loses it, tries again like any
 * other. While a server starts again, at most 1,000 messages of a client wait; more are refused with
 * SEND_FAILED.
 */
export function memory(): MemoryTransport {
  let place: Connections | undefined
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
    connect: Object.freeze({
      name: 'memory',
      connect: (events: LinkEvents, scope: LinkScope) => new MemoryLink(place, events, scope),
    }),
  })
}

class MemoryLink implements Link {
  readonly #events: LinkEvents
  #accepted: Accepted | undefined
  #paused = false
  #over = false

  constructor(place: Connections | undefined, events: LinkEvents, scope: LinkScope) {
    this.#events = events
    if (place === undefined) this.#failed('CONNECT_FAILED', 'no server listens on this memory transport')
    else this.#begin(place, scope)
  }

  #begin(place: Connections, scope: LinkScope): void {
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
