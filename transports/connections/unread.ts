import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ByteAccount } from './byte-budget.js'
import { nodeMs } from '../base/node-ms.js'

export interface UnreadLimits {
  /** Bytes that may wait for it before it counts as slow. */
  readonly maxBufferedBytes: number
  /** Milliseconds in which a slow one has to take something, be it a part of a message. */
  readonly timeout: number
  /** Where the bytes of a slow one are counted. Default nowhere. */
  readonly account?: ByteAccount
}

interface UnreadEvents {
  /** It has become slow: nothing more should be taken from it. */
  slow?(): void
  /** It has taken all. */
  caughtUp?(): void
  /** It has taken nothing for too long. */
  stuck(): void
}

/**
 * What a socket's reader has not taken. A slow one keeps its connection as long as it reads: its bytes count
 * in the listener's budget, and nothing is taken from it until all is read.
 */
export class Unread {
  readonly #socket: Socket
  readonly #limits: UnreadLimits
  readonly #events: UnreadEvents
  #isSlow = false
  /** Whether a drain will come. */
  #isBehind = false
  /** Whether there was no room for what waits. */
  #isFull = false
  /** The limit that the socket had before. */
  #timeout = 0
  /** What waited below TLS when that was last looked at. */
  #belowTls: number | undefined
  #waiting: (() => void)[] = []

  constructor(socket: Socket, limits: UnreadLimits, events: UnreadEvents) {
    this.#socket = socket
    this.#limits = limits
    this.#events = events
    socket.once('close', () => this.#caughtUp())
  }

  get isStalled(): boolean {
    return this.#isFull || this.#socket.writableLength > this.#limits.maxBufferedBytes
  }

  /** Whether it has been slow, and not caught up yet. */
  get isSlow(): boolean {
    return this.#isSlow
  }

  /** Takes room for a text that is to be written; answers why there is none. */
  add(bytes: number): Error | undefined {
    // nobody would give back what is taken after the close
    return this.#socket.destroyed ? undefined : this.#limits.account?.set(this.#socket.writableLength + bytes)
  }

  /** To be called after each write. */
  wrote(): void {
    if (this.#socket.destroyed) return
    const { account, maxBufferedBytes, timeout } = this.#limits
    const left = this.#socket.writableLength
    if (!this.#isBehind) {
      // no drain comes after less
      if (left < this.#socket.writableHighWaterMark) return account?.release()
      this.#isBehind = true
      this.#socket.once('drain', this.#caughtUp)
    }
    this.#isFull = account?.set(left) !== undefined
    if (this.#isSlow || left <= maxBufferedBytes) return
    this.#isSlow = true
    this.#timeout = this.#socket.timeout ?? 0
    // of Node, as it alone knows that a part of a long message has been taken
    this.#belowTls = queuedBelowTls(this.#socket)
    this.#socket.setTimeout(nodeMs(timeout)).on('timeout', this.#onTimeout)
    this.#events.slow?.()
  }

  /** Undefined, or resolves when all is read, or the socket is closed. */
  caughtUp(): Promise<void> | undefined {
    return this.#isSlow ? new Promise((resolve) => this.#waiting.push(resolve)) : undefined
  }

  readonly #onTimeout = (): void => {
    const left = queuedBelowTls(this.#socket)
    if (left === this.#belowTls) return this.#events.stuck()
    this.#belowTls = left
    this.#socket.setTimeout(nodeMs(this.#limits.timeout))
  }

  readonly #caughtUp = (): void => {
    this.#limits.account?.release()
    this.#isBehind = this.#isFull = false
    this.#socket.off('drain', this.#caughtUp)
    if (!this.#isSlow) return
    this.#isSlow = false
    this.#socket.setTimeout(this.#timeout).off('timeout', this.#onTimeout)
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go()
    if (!this.#socket.destroyed) this.#events.caughtUp?.()
  }
}

/** What Node keeps of a socket with TLS: the handle of the one below, which has no name that is public. */
interface Layered {
  readonly _handle?: { readonly _parent?: { readonly writeQueueSize?: number } } | null
}

/**
 * Bytes that wait below TLS; undefined without it. Node notices a part of a long message taken, but not with
 * TLS: there this number alone tells slow from stuck.
 */
export function queuedBelowTls(socket: Duplex | null): number | undefined {
  return (socket as Layered | null)?._handle?._parent?.writeQueueSize
}
