import type { ServerResponse } from 'node:http'
import { comment, encodeEvent } from '../protocol/sse-events.js'
import type { Accepted, Connection, ConnectionEnd, ConnectionSizes } from './connections.js'
import type { Peer } from './contract.js'
import { hasExpired, type Principal } from './principal.js'

/** Eight times of what may wait for a reader is beyond hope. */
const patience = 8

/** One event stream and its client. */
export class SseConnection implements Connection {
  readonly peer: Peer
  readonly maxMessageBytes: number
  /** Whom to tell what is posted; known once the stream has been taken in. */
  accepted: Accepted | undefined
  /** Whether too many messages wait: posts are refused for now. */
  isPaused = false
  /** Who has posted last: the stream is for as long as that is true. */
  principal: Principal | undefined
  readonly #response: ServerResponse
  readonly #maxBufferedBytes: number
  #left = 0

  constructor(response: ServerResponse, peer: Peer, { maxBufferedBytes, maxMessageBytes }: ConnectionSizes) {
    this.maxMessageBytes = maxMessageBytes
    this.#response = response
    this.peer = peer
    this.principal = peer.principal
    this.#maxBufferedBytes = maxBufferedBytes
  }

  get isStalled(): boolean {
    return this.#response.writableLength > this.#maxBufferedBytes
  }

  /** The first event says where to post (specification 2024-11-05: transports). */
  begin(endpoint: string): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    this.#write(encodeEvent({ event: 'endpoint', data: endpoint }))
  }

  send(text: string): void {
    if (this.#response.writableLength > patience * this.#maxBufferedBytes) this.#response.destroy()
    else this.#write(encodeEvent({ event: 'message', data: text }))
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

  /** Called now and then: keeps a quiet stream from being taken for dead, and cuts off a reader who has fetched nothing since. */
  keepAlive(): void {
    if (hasExpired(this.principal)) return void this.#response.end()
    const left = this.#response.writableLength
    if (left > this.#maxBufferedBytes && left >= this.#left && this.#left > 0)
      return void this.#response.destroy()
    this.#left = left
    if (left === 0) this.#write(comment())
  }

  #write(text: string): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(text)
  }
}
