import type { Socket } from 'node:net'
import type { LinkScope, ServerTransport } from './contract.js'

/**
 * How several processes serve at one address: one, which runs no code of a user, takes the connections and
 * hands them to the others.
 */
export interface Sharing {
  /** Where it listens by itself; 0: at any port. */
  readonly port: number
  /**
   * The options as plain data, for the other processes to make the same transport. Throws BAD_OPTION for one
   * that cannot be copied, such as a function.
   */
  options(): object
  /**
   * Takes the address: each connection goes to `take`, paused and unread. It counts for the limits of all
   * processes together until `ended` is called: once it is over, wherever it was served, or its process is.
   * Connections that are still here at the scope's end are closed. `previous` is the last address, if its
   * owner was restarted: takes the same port. Rejects with LISTEN_FAILED.
   */
  listen(
    scope: LinkScope,
    take: (socket: Socket, ended: () => void) => void,
    previous?: Address,
  ): Promise<SharedAddress>
  /** The transport of a process that is given connections. */
  serve(source: SharedConnections): ServerTransport
}

/** One connection, of which nothing was read yet. */
export type AcceptedSocket = Socket

/** Where clients reach the processes. */
export interface Address {
  readonly url: string
  readonly host: string
  readonly port: number
}

/** An address that is taken until the scope ends. */
export interface SharedAddress extends Address {
  /** Milliseconds for which connections are taken after the processes have said that they end. */
  readonly drainDelay: number
  /** Takes no new connections. */
  stopListening(): void
}

/** Where a process gets its connections from. */
export interface SharedConnections {
  readonly address: Address
  /** Gives each connection to `fn`, those that wait first, until the returned function is called. */
  take(fn: (socket: Socket) => void): () => void
}
