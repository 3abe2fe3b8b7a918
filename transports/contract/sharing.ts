import type { Socket } from 'node:net'
import type { LinkScope, ServerTransport } from './contract.js'

/**
 * How several processes serve at one address: one, which runs no code of a user, takes the connections and
 * hands them to the others.
 */
export interface Sharing {
  /**
   * The options as plain data, for the other processes to make the same transport. Throws BAD_OPTION for one
   * that cannot be copied, such as a function.
   */
  options(): object
  /**
   * Takes the address: each connection goes to `take`, paused and unread. It counts for the limits of all
   * processes together until `ended` is called: once it is over, wherever it was served, or its process is.
   * Connections that are still here at the scope's end are closed. Rejects with LISTEN_FAILED.
   */
  listen(scope: LinkScope, take: (socket: Socket, ended: () => void) => void): Promise<SharedAddress>
  /** The transport of a process that is given connections. */
  serve(source: ConnectionSource): ServerTransport
}

/** One connection, of which nothing was read yet. */
export type Connection = Socket

/** Where clients reach the processes. */
export interface Address {
  readonly url: string
  readonly host: string
  readonly port: number
}

/** An address that is taken until the scope ends. */
export interface SharedAddress extends Address {
  /** Takes no new connections. */
  stopListening(): void
}

/** Where a process gets its connections from. */
export interface ConnectionSource {
  readonly address: Address
  /** Gives each connection to `fn`, those that wait first, until the returned function is called. */
  take(fn: (socket: Socket) => void): () => void
  /** Where its event streams are kept for the others; absent: a stream is resumed where it began. */
  readonly streams?: SharedStreams
}

/** One event of a stream that a process began. */
export interface StreamEntry {
  readonly sessionId: string
  /** The stream's name, which is a part of its event ids. */
  readonly stream: string
  /** Its place in the stream, from 1. */
  readonly number: number
  /** Absent at the end of a stream that ends without an event. */
  readonly data?: string
  /** Nothing comes after it. */
  readonly isLast: boolean
}

/** The event streams of all processes: what one began, a client may take up on another. */
export interface SharedStreams {
  /** Keeps one more event of a stream of ours, in order, and passes it to whoever follows the stream. */
  append(entry: StreamEntry): void
  /** A stream of ours is not kept any more. */
  drop(sessionId: string, stream: string): void
  /** Hears who reads our streams on other processes, until the returned function is called. */
  watch(fn: (stream: string, isFollowed: boolean) => void): () => void
  /** Takes up a stream that another process began, after the event with this id. */
  follow(sessionId: string, eventId: string, follower: StreamFollower): Promise<Followed>
}

/** The connection that takes up a stream of another process. */
export interface StreamFollower {
  /** What the client has missed, then what comes, in order. */
  event(id: string, data: string): void
  /** The stream has had its last event, or (`lost`) its process has ended before that. */
  end(how: 'finished' | 'lost'): void
}

/** `lost`: the stream's process has ended, and nothing of it is kept. `refused`: no id to go on from. */
export type Followed =
  | { readonly type: 'followed'; stop(): void }
  | { readonly type: 'lost' }
  | { readonly type: 'refused'; readonly why: string }
