import { TurnoverMap } from '../../runtime/base/turnover.js'
import { isRequestId, type RequestId } from '../../protocol/wire/jsonrpc.js'

/** Milliseconds by which a notification may overtake its request. */
const overtaken = 5_000
/** Ids that are kept of each kind, and the characters of one: longer ones are not kept. */
const most = 100
const maxLength = 256

/** Cancellations that overtook their request, as over HTTP; one for an answered request is not kept. */
export class EarlyCancellations {
  readonly #at = new TurnoverMap<RequestId, number>()
  /** Ids answered last, as a ring: a client may use one again, whose late cancellation must not count. */
  readonly #answered: RequestId[] = []
  #next = 0

  /** From now on a cancellation of this id comes too late. */
  noteAnswered(id: RequestId): void {
    if (isLong(id)) return
    this.#answered[this.#next] = id
    this.#next = (this.#next + 1) % most
  }

  /** Keeps the cancellation of a request that is not in flight, unless it was answered lately. */
  add(id: unknown, now: number): void {
    if (!isRequestId(id) || isLong(id) || this.#answered.includes(id)) return
    this.#at.delete(id)
    this.#at.set(id, now)
    if (this.#at.size <= most) return
    const [oldest] = this.#at.entries()
    if (oldest !== undefined) this.#at.delete(oldest[0])
  }

  /** Whether a request that comes now was cancelled; a cancellation counts once. */
  take(id: RequestId, now: number): boolean {
    if (this.#at.size === 0) return false
    const at = this.#at.get(id)
    return this.#at.delete(id) && at !== undefined && now - at <= overtaken
  }
}

function isLong(id: RequestId): boolean {
  return typeof id === 'string' && id.length > maxLength
}
