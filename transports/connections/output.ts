import type { Message } from '../../protocol/wire/jsonrpc.js'
import type { Connection } from './connections.js'
import { textWithin, uncounted } from '../contract/message-sizes.js'

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

  /** Writes answers: an array is one batch. False where it is too long and nothing can stand for it. */
  write(message: Message | readonly Message[]): boolean {
    if (isBatch(message)) return this.#writeAll(message)
    const { maxMessageBytes = Number.POSITIVE_INFINITY, room } = this.#connection
    const text = textWithin(message, maxMessageBytes, room)
    if (text === undefined) return false
    this.#send(text)
    return true
  }

  /** Where there is no room for all, each long one is an error. */
  #writeAll(answers: readonly Message[]): true {
    const { maxMessageBytes = Number.POSITIVE_INFINITY, room } = this.#connection
    const texts = answers.map((answer) => textWithin(answer, maxMessageBytes) ?? '')
    const text = `[${texts.join(',')}]`
    const refused = text.length > uncounted ? room?.add(Buffer.byteLength(text)) : undefined
    const full = refused && { add: () => refused }
    const fitted = (answer: Message): string => textWithin(answer, maxMessageBytes, full) ?? ''
    this.#send(full === undefined ? text : `[${answers.map(fitted).join(',')}]`)
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

function isBatch(answer: Message | readonly Message[]): answer is readonly Message[] {
  return Array.isArray(answer)
}
