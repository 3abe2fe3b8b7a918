import { createServer, type Socket } from 'node:net'
import type { Clock } from '../../runtime/time/clock.js'
import { lastingWorld } from '../../runtime/process/context.js'
import { createLineDecoder } from '../../protocol/wire/lines.js'
import { encode } from '../../protocol/wire/codec.js'
import type { ProtocolError } from '../../protocol/wire/errors.js'
import { takeSkipped } from '../connections/answers.js'
import { ByteBudget } from '../connections/byte-budget.js'
import {
  type Accepted,
  bindConnections,
  type Connection,
  type Connections,
} from '../connections/connections.js'
import { Unread } from '../connections/unread.js'
import type { LinkScope, Peer } from '../contract/contract.js'
import { bytesOf, usualPendingBytes } from '../contract/message-sizes.js'
import { listenAtPath } from './local-socket.js'
import { readHello, type SharedClient, type Hello, type HelloReply, writeHelloReply } from './hello.js'

/** Knows which clients are shared. */
export interface ShareDirectory {
  /** The names of those that are shared now. */
  names(): readonly string[]
  /** What each of them is doing. */
  list(): Promise<readonly SharedClient[]>
}

interface SharePlace {
  readonly path: string
  readonly limits: {
    readonly connections: number
    readonly messageBytes: number
    readonly bufferedBytes: number
  }
  /** Milliseconds that a connection may last without having opened a session. */
  readonly openTimeout: number
}

/** Milliseconds that a program may take to end its side of a connection. */
const closeTimeout = 1_000
/** Milliseconds in which a program that is slow to read has to read something. */
const readTimeout = 30_000
/** Milliseconds that a program may take to say what it wants. */
const helloTimeout = 5_000
/** Bytes that it may need for that. */
const longestHello = 64 * 1024
/** Connections that have not said so yet, besides `limits.connections`. */
const sparePeers = 100
/** Names that the error for an unknown client lists. */
const shownNames = 20

/** Listens for programs that want a shared client (`peer.assigns`). Rejects as `listenAtPath` does. */
export async function bindShared(
  place: SharePlace,
  scope: LinkScope,
  directory: ShareDirectory,
): Promise<Connections> {
  const { path, limits, openTimeout } = place
  const server = createServer()
  server.maxConnections = limits.connections + sparePeers
  const sockets = new Set<Socket>()
  const clock = lastingWorld(scope.world)
  let isTaking = true
  const stopListening = (): void => {
    if (isTaking) server.close()
    isTaking = false
  }
  scope.own(() => {
    stopListening()
    return Promise.all([...sockets].map((socket) => endSoon(socket, clock))).then(() => {})
  })
  await listenAtPath(server, path, scope)
  const budget = new ByteBudget({
    messageBytes: limits.messageBytes,
    pendingBytes: usualPendingBytes(),
    pendingBytesPerClient: undefined,
  })
  const connections = bindConnections(scope, {
    url: path,
    maxConnections: limits.connections,
    openTimeout,
    handshakeOnly: true,
    stopListening,
    describe: () => budget.describe(),
  })
  const desk: Desk = { place, scope, clock, directory, connections, budget }
  server.on(
    'connection',
    scope.bind((socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      receive(socket, desk)
    }),
  )
  // a connection that could not be accepted ends nothing
  server.on('error', () => {})
  return connections
}

interface Desk {
  readonly place: SharePlace
  readonly scope: LinkScope
  /** For what is left to do when the scope has ended. */
  readonly clock: Clock
  readonly directory: ShareDirectory
  readonly connections: Connections
  /** Bytes that wait to be read by all programs together. */
  readonly budget: ByteBudget
}

/** One program: its first line says what it wants, all others are MCP. */
function receive(socket: Socket, desk: Desk): void {
  const { scope, place } = desk
  const { clock } = scope // taken now: the scope refuses everything once it has ended
  const lines = createLineDecoder({ maxMessageBytes: place.limits.messageBytes })
  const timer = clock.setTimeout(() => void socket.destroy(), helloTimeout)
  let accepted: Accepted | undefined
  let isOver = false
  const take = (text: string): boolean => {
    if (accepted !== undefined) return accepted.message(text)
    clock.clearTimeout(timer)
    accepted = admit(socket, readHello(text), desk)
    return accepted !== undefined
  }
  const read = (chunk: Uint8Array): void => {
    if (isOver) return
    // what is no line of text, and a line that is not taken, ends the connection
    isOver = !lines.push(chunk).every((item) => {
      if (item.type === 'line') return take(item.text)
      return item.type === 'too_long' && skip(socket, item.error, accepted)
    })
    if (accepted === undefined && lines.unfinished > longestHello) isOver = true
    if (isOver) void endSoon(socket, desk.clock)
  }
  socket.on('error', () => {}) // `close` follows
  socket.on('data', scope.bind(read))
  socket.once(
    'close',
    scope.bind(() => {
      clock.clearTimeout(timer)
      accepted?.closed()
    }),
  )
}

/** A message that was too long fails the request that it is, or that it answers; false for the first line. */
function skip(socket: Socket, error: ProtocolError, accepted: Accepted | undefined): boolean {
  if (accepted === undefined) return false
  takeSkipped(
    error,
    (text) => accepted.message(text),
    (text) => socket.writable && socket.write(`${text}\n`),
  )
  return true
}

/** Answers what a program wants; undefined when its connection ends with that. */
function admit(socket: Socket, hello: Hello | undefined, desk: Desk): Accepted | undefined {
  const { connections } = desk
  if (hello?.type === 'list') {
    void showClients(socket, desk)
    return finished
  }
  const refusal = refusalOf(hello, desk)
  say(socket, refusal ?? { type: 'opened' })
  if (hello === undefined || refusal !== undefined) return undefined
  return connections.accept(new SharedConnection(socket, hello.client, desk))
}

/** Takes nothing more: the list of clients ends the connection. */
const finished: Accepted = Object.freeze({ message: () => false, closed: () => {} })

async function showClients(socket: Socket, { directory, clock }: Desk): Promise<void> {
  const clients = await directory.list()
  say(socket, { type: 'clients', clients })
  await endSoon(socket, clock)
}

function say(socket: Socket, reply: HelloReply): void {
  if (socket.writable) socket.write(`${encode(writeHelloReply(reply))}\n`)
}

function refusalOf(
  hello: Hello | undefined,
  { place, directory, connections }: Desk,
): HelloReply | undefined {
  if (hello?.type !== 'open')
    return { type: 'refused', why: 'unreadable', message: 'expected caduceus/open or caduceus/clients' }
  const names = directory.names()
  if (!names.includes(hello.client))
    return { type: 'refused', why: 'not_shared', message: unknown(hello.client, names) }
  if (connections.size < place.limits.connections) return undefined
  return {
    type: 'refused',
    why: 'too_many',
    message: `${place.limits.connections} programs use these clients already`,
  }
}

function unknown(name: string, names: readonly string[]): string {
  const shown = names.slice(0, shownNames).join(', ') + (names.length > shownNames ? ', ...' : '')
  return `no client called ${name.slice(0, 100)} is shared here${names.length === 0 ? '' : `: there are ${shown}`}`
}

/** The socket of one program that uses a shared client. */
class SharedConnection implements Connection {
  readonly peer: Peer
  readonly maxMessageBytes: number
  readonly #socket: Socket
  readonly #clock: Clock
  readonly room: Unread
  #isPaused = false

  constructor(socket: Socket, client: string, { place, budget, clock }: Desk) {
    this.#clock = clock
    this.maxMessageBytes = place.limits.messageBytes
    this.peer = Object.freeze({
      transport: 'shared',
      headers: Object.freeze({}),
      remoteAddress: undefined,
      assigns: Object.freeze({ client }),
      trusted: true,
    })
    this.#socket = socket
    const limits = {
      maxBufferedBytes: place.limits.bufferedBytes,
      timeout: readTimeout,
      account: budget.account(this.peer),
    }
    this.room = new Unread(socket, limits, {
      slow: () => socket.pause(),
      caughtUp: () => {
        if (!this.#isPaused) socket.resume()
      },
      stuck: () => socket.destroy(),
    })
  }

  get isStalled(): boolean {
    return this.room.isStalled
  }

  send(text: string): void {
    const socket = this.#socket
    if (!socket.writable) return
    socket.write(bytesOf(`${text}\n`))
    this.room.wrote()
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (!this.room.isSlow) this.#socket.resume()
  }

  close(): void {
    void endSoon(this.#socket, this.#clock)
  }
}

/** Ends a socket after what was written, within a second, whatever the other end does. */
function endSoon(socket: Socket, clock: Clock): Promise<void> {
  if (socket.closed) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = clock.setTimeout(() => void socket.destroy(), closeTimeout)
    socket.once('close', () => {
      clock.clearTimeout(timer)
      resolve()
    })
    // what still comes is dropped; a paused socket would never see its end
    socket.resume()
    socket.end()
  })
}
