import type { Socket } from 'node:net'
import type { World } from '../../runtime/time/world.js'
import type { ServerOptions, WebSocket } from 'ws'
import type { Accepted, Connection, ConnectionEnd, ConnectionSizes } from '../connections/connections.js'
import type { LinkScope, Peer } from '../contract/contract.js'
import { hasExpired } from '../contract/principal.js'
import type { Standing, StandingToken } from '../contract/standing.js'
import { Unread, type UnreadLimits } from '../connections/unread.js'

/** How a socket that the server ends is closed (RFC 6455, section 7.4.1). */
const closeCodes: { readonly [End in ConnectionEnd]: number } = {
  going_away: 1001,
  session_ended: 1000,
  no_session: 1008,
  too_many: 1013,
}
/** Milliseconds that the far side may take to answer a close frame. */
const closeTimeout = 1_000

/** What one socket may cost: no compression (fifteen times the memory), and bounds on what is unfinished. */
export function socketLimits(maxMessageBytes: number) {
  return {
    perMessageDeflate: false,
    // ws takes what is left of it in 32 bits: more would be less, or no limit at all
    maxPayload: Math.min(maxMessageBytes, 2 ** 31 - 1),
    maxFragments: 1_024,
    maxBufferedChunks: 16_384,
    maxPendingAutoPongs: 20,
    closeTimeout,
  } satisfies ServerOptions & { maxPendingAutoPongs: number; closeTimeout: number }
}

/** A socket of one client, open already. */
export class WebSocketConnection implements Connection {
  readonly peer: Peer
  readonly maxMessageBytes: number
  /** Resolves when the socket is closed; at most a second after `close`. */
  readonly closed: Promise<void>
  readonly room: Unread
  readonly #socket: WebSocket
  readonly #scope: LinkScope
  readonly #world: World
  #alive = true
  #isPaused = false
  #watch: StandingToken | undefined
  /** Messages that came since the token is asked about. */
  #held: string[] = []
  #ended: () => void = () => {}

  /** `raw` is the socket below. */
  constructor(
    socket: WebSocket,
    raw: Socket,
    peer: Peer,
    limits: UnreadLimits & ConnectionSizes,
    scope: LinkScope,
  ) {
    this.peer = peer
    this.maxMessageBytes = limits.maxMessageBytes
    this.#socket = socket
    this.#scope = scope
    this.#world = scope.world
    this.room = new Unread(raw, limits, {
      slow: scope.bind(() => socket.pause()),
      caughtUp: scope.bind(() => this.#caughtUp()),
      stuck: scope.bind(() => this.#end(1013, 'the client does not read')),
    })
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
    // ws closes with 1002, 1007, 1008 or 1009 by itself; without a listener it would be an uncaught error
    socket.on('error', () => {})
  }

  get isStalled(): boolean {
    return this.room.isStalled
  }

  /** `watch`: the token that it came with. */
  tell(accepted: Accepted, watch?: StandingToken): void {
    const socket = this.#socket
    const scope = this.#scope
    const alive = (): void => {
      this.#alive = true
    }
    const hand = (text: string): void => {
      if (!accepted.message(text)) this.#end(1013, 'too many messages')
    }
    const onStanding = scope.bind((standing: Standing) => this.#handHeld(standing, hand))
    const take = (text: string): void => {
      if (this.#held.length === 0 && watch?.isFresh !== false) return hand(text)
      if (socket.readyState !== socket.OPEN) return
      if (this.#held.push(text) > 1) return
      socket.pause()
      void watch?.ask().then(onStanding)
    }
    this.#watch = watch
    this.#ended = scope.bind(() => this.#end(1008, 'the authorization has ended'))
    socket.on(
      'message',
      scope.bind((data: Buffer, isBinary: boolean) => {
        alive()
        if (isBinary) socket.close(1003, 'expected text frames')
        else take(data.toString())
      }),
    )
    socket.on('pong', alive)
    socket.once(
      'close',
      scope.bind(() => accepted.closed()),
    )
  }

  send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    // a failure is told by the close that follows it
    this.#socket.send(text, () => {})
    this.room.wrote()
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#readOn()
  }

  close(why: ConnectionEnd): void {
    this.#end(closeCodes[why], why)
  }

  /** Asks for a sign of life; gives up when none came since the last time, or the principal expired. */
  beat(): void {
    if (hasExpired(this.peer.principal, this.#world)) return this.#end(1008, 'the authorization has expired')
    this.#watch?.beat(this.#ended)
    // the ping would come behind all that it has not read
    if (this.room.isSlow) return
    if (!this.#alive) return this.#socket.terminate()
    this.#alive = this.#socket.isPaused
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  #caughtUp(): void {
    this.#alive = true
    this.#readOn()
  }

  /** Before a message is served, the token has to be known to be good. */
  #handHeld(standing: Standing, hand: (text: string) => void): void {
    const held = this.#held
    this.#held = []
    if (this.#socket.readyState !== this.#socket.OPEN) return
    if (standing === 'refused') return this.#ended()
    if (standing === 'unknown') return this.#end(1013, 'the authorization cannot be checked')
    for (const text of held) hand(text)
    this.#readOn()
  }

  #readOn(): void {
    if (!this.#isPaused && !this.room.isSlow && this.#held.length === 0) this.#socket.resume()
  }

  #end(code: number, reason: string): void {
    // a paused socket would never read the close frame of the far side
    if (this.#socket.isPaused) this.#socket.resume()
    this.#socket.close(code, reason)
  }
}
