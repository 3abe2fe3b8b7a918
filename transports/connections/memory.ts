import { isRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import { type Accepted, bindConnections, type ConnectionEnd, type Connections } from './connections.js'
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
 * Messages pass as JSON texts, so whatever works here works on a wire. A client that finds no server, or
 * loses it, tries again like any other; at most 1,000 messages of a client wait for a server that is starting
 * again, and more are refused with SEND_FAILED.
 */
export function memory(): MemoryTransport {
  let place: Connections | undefined
  return Object.freeze({
    serve: Object.freeze({
      name: 'memory',
      async bind(scope: LinkScope) {
        if (place !== undefined) throw taken()
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
    if (place === undefined) {
      this.#refused()
      return
    }
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
      close: (why) => this.#cut(why),
    })
    if (!this.#over) events.opened()
  }

  send(text: string, message: Message): void {
    if (this.#over) return
    if (!this.#paused && this.#accepted?.message(text) === true) return
    const error = new TransportError('SEND_FAILED', 'too many messages wait for the server already', {
      retryable: true,
    })
    if (isRequest(message)) this.#events.lost(message.id, error)
    else this.#events.trouble(error)
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

  #cut(why: ConnectionEnd): void {
    if (this.#over) return
    this.#over = true
    const message = `the server ended the connection: ${why}`
    this.#events.closed({ error: new TransportError('CONNECTION_LOST', message, { retryable: true }) })
  }

  #refused(): void {
    this.#over = true
    const message = 'no server listens on this memory transport'
    this.#events.closed({ error: new TransportError('CONNECT_FAILED', message, { retryable: true }) })
  }
}

function taken(): TransportError {
  const message = 'this memory transport has a server already: make one for each'
  return new TransportError('LISTEN_FAILED', message)
}
