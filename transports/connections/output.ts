import type { Message } from '../../protocol/wire/jsonrpc.js'
import type { Connection } from './connections.js'
import { textWithin } from '../contract/message-sizes.js'

/** What goes out on one connection, until it is over. */
export class ConnectionOutput {
  /** Nothing is written from then on. */
  isOver = false
  readonly #connection: Connection
  readonly #broken: (error: unknown) => void
  #isPaused = false

  /** `broken` is told of an error of the transport: it costs this connection, and no other. */
  constructor(connection: Connection, broken: (error: unknown) => void) {
    this.#connection = connection
    this.#broken = broken
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Writes what may be dropped; false when the client has gone, or reads too slowly. */
  sendIfRead(message: Message): boolean {
    if (this.isOver || this.#connection.isStalled) return false
    return this.write(message)
  }

  /** False where it is too long and nothing can stand for it. */
  write(message: Message): boolean {
    const { maxMessageBytes = Number.POSITIVE_INFINITY, room } = this.#connection
    const text = textWithin(message, maxMessageBytes, room)
    if (text === undefined) return false
    this.#send(text)
    return true
  }

  #send(text: string): void {
    if (this.isOver) return
    try {
      this.#connection.send(text)
    } catch (error) {
      this.#broken(error)
    }
  }

  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#connection.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (!this.isOver) this.#connection.resume()
  }
}
