import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'

/** Characters of requests that are begun, and of those that are held back, until reading pauses. */
const maxSize = 64 * 1024 * 1024
/** Requests that are held back until reading pauses. */
const maxHeld = 1_000

/** A request that its server has. */
interface Begun {
  readonly id: RequestId
  readonly size: number
}

/** A request that waits until its server takes it. */
interface Held extends Begun {
  begin(): void
}

/**
 * The requests of the client on a pipe until they are answered. As many as the server takes at once are
 * begun, the others are held back in their order; whatever else comes is not: an answer that is waited for
 * may be behind them.
 */
export class PipeRequests {
  /** Those that are begun, and how long they are. */
  readonly #begun = new TurnoverMap<RequestId, Begun>()
  readonly #held = new Map<RequestId, Held>()
  readonly #isRead: () => boolean
  #begunSize = 0
  #heldSize = 0
  #max = Number.POSITIVE_INFINITY

  /** While `isRead` says that the client does not read its answers, what is held back stays so. */
  constructor(isRead: () => boolean = () => true) {
    this.#isRead = isRead
  }

  /** All that are not answered. */
  get size(): number {
    return this.#begun.size + this.#held.size
  }

  /** Whether nothing more should be read for now. */
  get isFull(): boolean {
    return this.#held.size > maxHeld || this.#heldSize > maxSize
  }

  has(id: RequestId): boolean {
    return this.#begun.has(id) || this.#held.has(id)
  }

  /** Whether it has not been begun. */
  isHeld(id: RequestId): boolean {
    return this.#held.has(id)
  }

  /** Begins a request of `size` characters, now or once there are fewer than `max`. */
  enter(id: RequestId, size: number, max: number | undefined, begin: () => void): void {
    this.#max = max ?? Number.POSITIVE_INFINITY
    if (this.#held.size === 0 && this.#hasRoomFor(size)) return this.#begin({ id, size, begin })
    this.#held.set(id, { id, size, begin })
    this.#heldSize += size
  }

  /** It is answered, or never will be; false when it was not there. */
  leave(id: RequestId): boolean {
    const held = this.#held.get(id)
    if (held !== undefined) {
      this.#held.delete(id)
      this.#heldSize -= held.size
      return true
    }
    const begun = this.#begun.get(id)
    if (begun === undefined) return false
    this.#begun.delete(id)
    this.#begunSize -= begun.size
    if (this.#held.size > 0) this.beginHeld()
    return true
  }

  /** Takes out all of them, in their order, and begins none. */
  clear(): RequestId[] {
    const all = [...this.#begun.values(), ...this.#held.values()].map(({ id }) => id)
    this.#held.clear()
    this.#heldSize = 0
    for (const id of all) this.leave(id)
    return all
  }

  /** Begins what may be by now. */
  beginHeld(): void {
    for (const held of this.#held.values()) {
      if (!this.#hasRoomFor(held.size)) return
      this.#held.delete(held.id)
      this.#heldSize -= held.size
      this.#begin(held)
    }
  }

  #begin({ id, size, begin }: Held): void {
    this.#begun.set(id, { id, size })
    this.#begunSize += size
    begin()
  }

  #hasRoomFor(size: number): boolean {
    if (this.#begun.size === 0) return true
    return this.#begun.size < this.#max && this.#begunSize + size <= maxSize && this.#isRead()
  }
}
