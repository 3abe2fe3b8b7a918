import { isRequestId, type RequestId } from '../../protocol/wire/jsonrpc.js'

/** Milliseconds by which a notification may overtake its request. */
const overtaken = 5_000
/** How many ids are remembered of each sort. */
const most = 100

/**
 * What was cancelled before it came: over HTTP a notification may overtake its request. One that comes late,
 * for what was answered, is not kept.
 */
export class EarlyCancellations {
  readonly #at = new Map<RequestId, number>()
  /**
   * Those answered last, in turn: a client that uses an id again must not lose its next request by a
   * cancellation of the one before.
   */
  readonly #answered: RequestId[] = []
  #next = 0

  /** What is cancelled from now on under this id comes too late. */
  noteAnswered(id: RequestId): void {
    this.#answered[this.#next] = id
    this.#next = (this.#next + 1) % most
  }

  /** Keeps the cancellation of what is not here, unless it was answered not long ago. */
  add(id: unknown, now: number): void {
    if (!isRequestId(id) || this.#answered.includes(id)) return
    this.#at.delete(id)
    this.#at.set(id, now)
    const [oldest] = this.#at.keys()
    if (this.#at.size > most && oldest !== undefined) this.#at.delete(oldest)
  }

  /** Whether a request that comes now was cancelled; a cancellation counts once. */
  take(id: RequestId, now: number): boolean {
    if (this.#at.size === 0) return false
    const at = this.#at.get(id)
    return this.#at.delete(id) && at !== undefined && now - at <= overtaken
  }
}
