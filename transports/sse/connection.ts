import type { ServerResponse } from 'node:http'
import type { World } from '../../runtime/time/world.js'
import type { Socket } from 'node:net'
import { comment, encodeEvent } from '../../protocol/wire/sse-events.js'
import type { Accepted, Connection, ConnectionEnd, ConnectionSizes } from '../connections/connections.js'
import type { Peer } from '../contract/contract.js'
import { bytesOf } from '../contract/message-sizes.js'
import { hasExpired, type Principal } from '../contract/principal.js'
import type { StandingToken } from '../contract/standing.js'
import { streamHeaders } from '../http/listen/response.js'
import { Unread, type UnreadLimits } from '../connections/unread.js'

/** One event stream and its client. */
export class SseConnection implements Connection {
  readonly peer: Peer
  readonly maxMessageBytes: number
  /** Receives what is posted; set once the stream is accepted. */
  accepted: Accepted | undefined
  /** Whether too many messages wait: posts are refused for now. */
  isPaused = false
  /** The principal of the last post: the stream ends when it expires. */
  principal: Principal | undefined
  /** The token of the last post. */
  watch: StandingToken | undefined
  readonly room: Unread
  readonly #response: ServerResponse

  constructor(response: ServerResponse, socket: Socket, peer: Peer, limits: UnreadLimits & ConnectionSizes) {
    this.maxMessageBytes = limits.maxMessageBytes
    this.#response = response
    this.peer = peer
    this.principal = peer.principal
    this.room = new Unread(socket, limits, { stuck: () => void response.destroy() })
  }

  get isStalled(): boolean {
    return this.room.isStalled
  }

  /** The first event says where to post (specification 2024-11-05: transports). */
  begin(endpoint: string): void {
    this.#response.writeHead(200, streamHeaders)
    this.#write(encodeEvent({ event: 'endpoint', data: endpoint }))
  }

  send(text: string): void {
    this.#write(encodeEvent({ event: 'message', data: text }))
    this.room.wrote()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  close(_why: ConnectionEnd): void {
    // who does not read would never see the end
    if (this.isStalled) this.#response.destroy()
    else this.#response.end()
  }

  /** Called now and then: keeps a quiet stream from being taken for dead. */
  keepAlive(world: Pick<World, 'date'>): void {
    if (hasExpired(this.principal, world)) return void this.#response.end()
    const { watch } = this
    watch?.beat(() => {
      if (this.watch === watch) this.#response.end()
    })
    if (this.#response.writableLength === 0) this.#write(comment())
  }

  #write(text: string): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(bytesOf(text))
  }
}
