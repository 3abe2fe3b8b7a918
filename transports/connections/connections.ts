import type { World } from '../../runtime/time/world.js'
import type { Clock } from '../../runtime/time/clock.js'
import { pause, waitWithin } from '../../runtime/time/wait.js'
import { emit } from '../../runtime/faults/events.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import { describe } from '../../runtime/watch/inspect.js'
import { Channel } from './channel.js'
import {
  type Binding,
  type ConnectionState,
  type LinkScope,
  type ListenScope,
  notReady,
  type Peer,
  type ServedConnection,
  type ServerPort,
} from '../contract/contract.js'
import { addressOf, emitTransport, noteRefused, originHere } from '../contract/events.js'

/** Why a server ends a connection. */
export type ConnectionEnd = 'going_away' | 'session_ended' | 'no_session' | 'too_many'

export interface ConnectionSizes {
  /** Bytes that may wait for a slow reader before notifications are dropped. */
  readonly maxBufferedBytes: number
  /** Bytes a message may have. */
  readonly maxMessageBytes: number
}

/** One client, such as a socket: what you write for a transport of your own. */
export interface Connection {
  readonly peer: Peer
  /** Hands over one encoded message. */
  send(text: string): void
  /** Whether the client reads too slowly: then notifications are dropped. */
  readonly isStalled: boolean
  /** Takes room for a long answer that is sent next; an error stands for it. Default: there is room. */
  readonly room?: { add(bytes: number): Error | undefined }
  /** Bytes a message to the client may have; a longer answer becomes an error. Default Infinity. */
  readonly maxMessageBytes?: number
  /** Too many messages wait to be taken: reads no more until `resume`. */
  pause(): void
  resume(): void
  /** Ends the connection in an orderly way within a few seconds. */
  close(why: ConnectionEnd): void
}

/** Where a transport tells what comes in on one connection. */
export interface Accepted {
  /**
   * One complete message of the client, still encoded; false when too many wait already. `peer`: the headers
   * that came with it, of the same principal. Default: the connection's.
   */
  message(text: string, peer?: Peer): boolean
  /** The connection is over, whoever ended it: so is its session. Calling it again does nothing. */
  closed(): void
}

/** Where connections come from. */
export interface ConnectionSource {
  /** Where clients reach it; undefined where there is no address. */
  readonly url?: string
  readonly port?: number
  /** Takes no new connections from here on; open ones go on. */
  stopListening?(): void
  /** Connections at once; one more is ended with `too_many`. Default 10,000. */
  readonly maxConnections?: number
  /** Milliseconds a connection may last without having opened a session. Default 30,000. */
  readonly openTimeout?: number
  /** Whether its clients have handshakes only, as the transport is older than 2026-07-28. Default false. */
  readonly handshakeOnly?: boolean
  /** Milliseconds between the end of readiness and of listening, within `timeouts.drain`. Default 0. */
  readonly drainDelay?: number
  /** What else people who look are told of it. */
  describe?(): string
}

/** What serves connections: one incarnation of a listener. */
export interface Serving {
  readonly server: ServerPort
  /** Runs in the scope of the listener, which answers for a throw. */
  run(fn: () => void): void
  report(error: unknown): void
}

/**
 * Makes connections servable: each is one session, which ends with it. The connections outlive restarts of
 * the server's group: requests in flight are answered with an error then, and what comes meanwhile waits.
 * They end with `scope`.
 */
export function bindConnections(scope: LinkScope, source: ConnectionSource = {}): Connections {
  const connections = new Connections(scope, source)
  scope.own(() => connections.close())
  return connections
}

/** The binding of a transport that has connections. */
export class Connections implements Binding {
  readonly url: string | undefined
  readonly port: number | undefined
  readonly #source: ConnectionSource
  readonly #world: World
  readonly #channels = new Set<Channel>()
  readonly #origin = originHere('')
  #count = 0
  #serving: Serving | null = null
  /**
   * Told when no request waits for its answer any more: the end of the input, and of the server, may both
   * wait.
   */
  readonly #waits = new Set<() => void>()
  /** Whether the server is to be stopped, but still serves what comes. */
  #isLeaving = false
  #isDraining = false

  constructor(scope: LinkScope, source: ConnectionSource) {
    this.url = source.url
    this.port = source.port
    this.#source = source
    // taken now, since the scope refuses everything once its end is being cleaned up
    this.#world = scope.world
  }

  /** Connections that are open, and those whose sessions are still to be ended. */
  get size(): number {
    return this.#channels.size
  }

  /** Whether new connections are taken and served. */
  get isReady(): boolean {
    return this.problem === undefined
  }

  /** Why they are not, as `/readyz` says it. */
  get problem(): string | undefined {
    return notReady(this.#isLeaving ? undefined : this.#serving?.server)
  }

  describe(): string {
    const more = this.#source.describe?.()
    return `${this.size} connections, ${this.unanswered} unanswered${more === undefined ? '' : `, ${more}`}`
  }

  /** Requests that wait for their answers. */
  get unanswered(): number {
    let count = 0
    for (const channel of this.#channels) count += channel.unanswered
    return count
  }

  /** Takes in a connection that has come about, and answers whom to tell what it brings. */
  accept(connection: Connection): Accepted {
    const { maxConnections = 10_000, openTimeout = 30_000, handshakeOnly = false } = this.#source
    const { transport, remoteAddress } = connection.peer
    if (this.#isDraining || this.#channels.size >= maxConnections) {
      const reason = this.#isDraining ? 'stopping' : 'limit'
      noteRefused({ ...this.#origin, transport }, remoteAddress, { reason })
      connection.close(this.#isDraining ? 'going_away' : 'too_many')
      return nobody
    }
    const state = newState(handshakeOnly ? 'handshake' : 'none')
    const channel = this.#add(connection, { state, isPipe: false })
    channel.expectBeginning(this.#world, openTimeout)
    channel.serve(this.#serving)
    return channel
  }

  /** Takes in standard input; its session goes on where that of pipes before it stood. */
  acceptPipe(connection: Connection, state: ConnectionState = newState('none')): Channel {
    const channel = this.#add(connection, { state, isPipe: true })
    channel.serve(this.#serving)
    return channel
  }

  #add(connection: Connection, settings: Pick<ServedConnection, 'state' | 'isPipe'>): Channel {
    const { transport, remoteAddress } = connection.peer
    this.#count += 1
    const about = {
      ...this.#origin,
      transport,
      connection: this.#count,
      remoteAddress: addressOf(remoteAddress),
    }
    const events = {
      over: () => {
        if (this.#channels.delete(channel)) emitTransport('connection', () => ({ ...about, type: 'closed' }))
      },
      progress: () => {
        if (this.#waits.size > 0 && this.unanswered === 0) for (const done of this.#waits) done()
      },
    }
    const channel = new Channel(connection, events, settings, this.#world)
    this.#channels.add(channel)
    emitTransport('connection', () => ({ ...about, type: 'opened' }))
    return channel
  }

  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef> {
    return ctx.start(connectionListener, { connections: this, server, scope }, { name: scope.name })
  }

  /** Has every connection served, also those to come, until the returned function is called. */
  serve(serving: Serving): () => void {
    this.#serving = serving
    for (const channel of [...this.#channels]) channel.serve(serving)
    return () => {
      if (this.#serving !== serving) return
      this.#serving = null
      for (const channel of [...this.#channels]) channel.serve(null)
    }
  }

  /** Takes no new work, and gives requests in flight `timeout` ms, the delay before included. */
  async drain(timeout: number, clock: Clock): Promise<void> {
    const delay = Math.min(timeout, this.#source.drainDelay ?? 0)
    this.#isLeaving = true
    if (delay > 0) await pause(delay, clock)
    this.#isDraining = true
    this.#source.stopListening?.()
    this.#serving?.server.drain()
    await this.whenAnswered(timeout - delay, clock)
  }

  /** Resolves when no request waits for its answer any more, or after `timeout` ms. */
  whenAnswered(timeout: number, clock: Clock): Promise<void> {
    if (this.unanswered === 0) return Promise.resolve()
    return waitWithin<void>({ clock, ms: timeout, late: () => {} }, (resolve) => {
      const done = (): void => resolve()
      this.#waits.add(done)
      return () => void this.#waits.delete(done)
    })
  }

  close(): void {
    this.#isLeaving = true
    this.#isDraining = true
    this.#source.stopListening?.()
    for (const channel of [...this.#channels]) channel.end('going_away')
    this.#channels.clear()
  }
}

function newState(pinned: ConnectionState['pinned']): ConnectionState {
  return { sessionId: undefined, dialect: undefined, pinned }
}

const nobody: Accepted = Object.freeze({ message: () => false, closed: () => {} })

/** Serves connections that outlive it; what one of them brings is handled in its scope. */
const connectionListener = defineActor({
  name: 'connection_listener',
  trapExit: true,
  stray: 'report',
  init({ connections, server, scope }: ListenerInput, ctx: ActorContext) {
    const { id: tree } = processOf(ctx.self).tree
    const owner = 'connection_listener'
    const report = (error: unknown): void =>
      emit('stray', () => ({ tree, error, kind: 'rejection', owner, outcome: 'reported' }))
    const run = ctx.bind((fn: () => void) => fn())
    ctx.own(connections.serve({ server, run, report }))
    const about = (): string => connections.describe()
    return { connections, scope, [describe]: about }
  },
  terminate: ({ connections, scope }, _reason, ctx) =>
    scope.stopping() ? connections.drain(scope.drainTimeout, ctx.clock) : undefined,
})

interface ListenerInput {
  readonly connections: Connections
  readonly server: ServerPort
  readonly scope: ListenScope
}
