import type { Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { type Answer, interrupted } from './answers.js'

/** Characters of requests that are begun, and of those that are held back, until reading pauses. */
const maxSize = 64 * 1024 * 1024
/** Requests that are held back until reading pauses. */
const maxHeld = 1_000

/** A request of the client that is to be answered. */
export interface OpenRequest {
  readonly id: RequestId
  /** Characters of its message. */
  readonly size: number
  readonly settle: Answer
  begin(): void
}

/**
 * The requests of one connection until they are answered. Those beyond the limit of the server are held back
 * in their order; other messages never are: an answer that the server waits for may be behind them.
 */
export class OpenRequests {
  readonly #begun = new TurnoverMap<RequestId, OpenRequest>()
  readonly #held = new Map<RequestId, OpenRequest>()
  readonly #onAnswered: () => void
  readonly #isRead: () => boolean
  #begunSize = 0
  #heldSize = 0
  #max = Number.POSITIVE_INFINITY

  /** `onAnswered` is called after each answer. Nothing that is held back begins unless `isRead`. */
  constructor(onAnswered: () => void, isRead: () => boolean) {
    this.#onAnswered = onAnswered
    this.#isRead = isRead
  }

  get size(): number {
    return this.#begun.size + this.#held.size
  }

  get isFull(): boolean {
    return this.#held.size > maxHeld || this.#heldSize > maxSize
  }

  has(id: RequestId): boolean {
    return this.#begun.has(id) || this.#held.has(id)
  }

  /** Begins a request, now or once there are fewer than `max`. Without `max` none is held back. */
  enter(request: OpenRequest, max?: number): void {
    if (max !== undefined) this.#max = max
    if (max === undefined || (this.#held.size === 0 && this.#hasRoomFor(request.size)))
      return this.#begin(request)
    this.#held.set(request.id, request)
    this.#heldSize += request.size
  }

  /** Answers a request: once at most, and with nothing where it was cancelled. */
  answer(request: OpenRequest, response: Message | undefined): void {
    const { id, size, settle } = request
    if (this.#begun.get(id) !== request) return
    this.#begun.delete(id)
    this.#begunSize -= size
    settle(response)
    this.beginHeld()
    this.#onAnswered()
  }

  /** Cancels a request that is held back; false where the server has it, or there is none. */
  cancelHeld(id: RequestId): boolean {
    const request = this.#held.get(id)
    if (request === undefined) return false
    this.#unhold(request)
    request.settle(undefined)
    this.#onAnswered()
    return true
  }

  /** Answers all with an error that may be retried; those held back do not begin. */
  interrupt(why: string): void {
    for (const { id, settle } of this.#takeOut()) settle(interrupted(id, why))
    this.#onAnswered()
  }

  /** The client has gone: none is answered. */
  clear(): void {
    this.#takeOut()
    this.#onAnswered()
  }

  beginHeld(): void {
    for (const request of this.#held.values()) {
      if (!this.#hasRoomFor(request.size)) return
      this.#unhold(request)
      this.#begin(request)
    }
  }

  #begin(request: OpenRequest): void {
    this.#begun.set(request.id, request)
    this.#begunSize += request.size
    request.begin()
  }

  #unhold({ id, size }: OpenRequest): void {
    this.#held.delete(id)
    this.#heldSize -= size
  }

  #takeOut(): OpenRequest[] {
    const begun = [...this.#begun.values()]
    const all = [...begun, ...this.#held.values()]
    this.#held.clear()
    for (const { id } of begun) this.#begun.delete(id)
    this.#begunSize = this.#heldSize = 0
    return all
  }

  #hasRoomFor(size: number): boolean {
    if (this.#begun.size === 0) return true
    return this.#begun.size < this.#max && this.#begunSize + size <= maxSize && this.#isRead()
  }
}
