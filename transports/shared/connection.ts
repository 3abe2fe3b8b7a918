import type { Socket } from 'node:net'
import type { ByteBudget } from '../connections/byte-budget.js'
import type { Connection, ConnectionSizes } from '../connections/connections.js'
import type { Peer } from '../contract/contract.js'
import { bytesOf } from '../contract/message-sizes.js'
import { Unread } from '../connections/unread.js'

/** Milliseconds that a program may take to end its side of a connection. */
const closeTimeout = 1_000
/** Milliseconds in which a program that is slow to read has to read something. */
const readTimeout = 30_000

/** The socket of one program that uses a shared client. */
export class SharedConnection implements Connection {
  readonly peer: Peer
  readonly maxMessageBytes: number
  readonly #socket: Socket
  readonly room: Unread
  #isPaused = false

  constructor(
    socket: Socket,
    client: string,
    { maxBufferedBytes, maxMessageBytes }: ConnectionSizes,
    budget: ByteBudget,
  ) {
    this.maxMessageBytes = maxMessageBytes
    this.peer = Object.freeze({
      transport: 'shared',
      headers: Object.freeze({}),
      remoteAddress: undefined,
      assigns: Object.freeze({ client }),
      trusted: true,
    })
    this.#socket = socket
    const limits = { maxBufferedBytes, timeout: readTimeout, account: budget.account(this.peer) }
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
    void endSoon(this.#socket)
  }
}

/**
 * Ends a socket after what was written before, within a second whatever its other end does; resolves when it
 * is closed.
 */
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
