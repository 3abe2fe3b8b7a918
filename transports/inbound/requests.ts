import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'

/** Characters of requests that are begun, and of those that are held back, until reading pauses. */
const maxSize = 64 * 1024 * 1024
/** Requests that are held back until reading pauses. */
const maxHeld = 1_000

/** A request of the client that is to be answered. */
export interface OpenRequest {
  readonly id: RequestId
  /** Characters of its message. */
  readonly size: number
  begin(): void
}

/**
 * The requests of one connection until they are answered. Those beyond the limit of the server are held back
 * in their order; other messages never are: an answer that the server waits for may be behind them.
 */
export class OpenRequests<Request extends OpenRequest = OpenRequest> {
  readonly #begun = new TurnoverMap<RequestId, Request>()
  readonly #held = new Map<RequestId, Request>()
  readonly #isRead: () => boolean
  #begunSize = 0
  #heldSize = 0
  #max = Number.POSITIVE_INFINITY

  /** Nothing that is held back begins unless `isRead`. */
  constructor(isRead: () => boolean) {
    this.#isRead = isRead
  }

  get size(): number {
    return this.#begun.size + this.#held.size
  }

  get isFull(): boolean {
    return this.#held.size > maxHeld || this.#heldSize > maxSize
  }

  /** The request with this id that was begun. */
  get(id: RequestId): Request | undefined {
    return this.#begun.get(id)
  }

  has(id: RequestId): boolean {
    return this.#begun.has(id) || this.#held.has(id)
  }

  /** Begins a request, now or once there are fewer than `max`. Without `max` none is held back. */
  enter(request: Request, max?: number): void {
    if (max !== undefined) this.#max = max
    if (max === undefined || (this.#held.size === 0 && this.#hasRoomFor(request.size)))
      return this.#begin(request)
    this.#held.set(request.id, request)
    this.#heldSize += request.size
  }

  /** A request that was begun has its answer. False where it had one. */
  leave(request: Request): boolean {
    const { id, size } = request
    if (this.#begun.get(id) !== request) return false
    this.#begun.delete(id)
    this.#begunSize -= size
    return true
  }

  /** Takes out a request that is held back; undefined where it has begun, or there is none. */
  takeHeld(id: RequestId): Request | undefined {
    const request = this.#held.get(id)
    if (request !== undefined) this.#unhold(request)
    return request
  }

  beginHeld(): void {
    for (const request of this.#held.values()) {
      if (!this.#hasRoomFor(request.size)) return
      this.#unhold(request)
      this.#begin(request)
    }
  }

  /** Takes out all, in the order in which they came. */
  takeAll(): Request[] {
    const begun = [...this.#begun.values()]
    const all = [...begun, ...this.#held.values()]
    this.#held.clear()
    for (const { id } of begun) this.#begun.delete(id)
    this.#begunSize = this.#heldSize = 0
    return all
  }

  #begin(request: Request): void {
    this.#begun.set(request.id, request)
    this.#begunSize += request.size
    request.begin()
  }

  #unhold({ id, size }: Request): void {
    this.#held.delete(id)
    this.#heldSize -= size
  }

  #hasRoomFor(size: number): boolean {
    if (this.#begun.size === 0) return true
    return this.#begun.size < this.#max && this.#begunSize + size <= maxSize && this.#isRead()
  }
}
