import type { Socket } from 'node:net'
import type { Connection, ConnectionSizes } from './connections.js'
import type { Peer } from './contract.js'

/** Milliseconds that a program may take to end its side of a connection. */
const closeTimeout = 1_000
/** Eight times of what may wait for a reader is beyond hope. */
const patience = 8

/** The socket of one program that uses a shared client. */
export class SharedConnection implements Connection {
  readonly peer: Peer
  readonly maxMessageBytes: number
  readonly #socket: Socket
  readonly #maxBufferedBytes: number

  constructor(socket: Socket, client: string, { maxBufferedBytes, maxMessageBytes }: ConnectionSizes) {
    this.maxMessageBytes = maxMessageBytes
    this.peer = Object.freeze({
      transport: 'shared',
      headers: Object.freeze({}),
      remoteAddress: undefined,
      assigns: Object.freeze({ client }),
      trusted: true,
    })
    this.#socket = socket
    this.#maxBufferedBytes = maxBufferedBytes
  }

  get isStalled(): boolean {
    return this.#socket.writableLength > this.#maxBufferedBytes
  }

  send(text: string): void {
    const socket = this.#socket
    if (socket.writableLength > patience * this.#maxBufferedBytes) socket.destroy()
    else if (socket.writable) socket.write(`${text}\n`)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    void endSoon(this.#socket)
  }
}

/** Ends a socket after what was written before, within a second whatever its other end does; resolves when it is closed. */
export function endSoon(socket: Socket): Promise<void> {
  if (socket.closed) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(() => void socket.destroy(), closeTimeout)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    // what comes still is nobody's, and a paused socket would never see its end
    socket.resume()
    socket.end()
  })
}
