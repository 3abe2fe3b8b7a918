import type { Clock } from '../../runtime/time/clock.js'

/** Milliseconds until messages that found no room are sent again. */
const retryAfter = 50
/** Retries after `close`: its owner does not learn any more which nodes have ended. */
const lastTries = 100

/**
 * Sends messages that other nodes wait for, such as answers, again until there is room; in order. It is bounded by
 * the requests that nodes may have in flight.
 */
export class RetryQueue<Item> {
  readonly #send: (node: string, item: Item) => boolean
  readonly #clock: Clock
  readonly #waiting = new Map<string, Item[]>()
  #timer: unknown
  #tries = Number.POSITIVE_INFINITY

  /** `send` answers false when there is no room. */
  constructor(send: (node: string, item: Item) => boolean, clock: Clock) {
    this.#send = send
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  send(node: string, item: Item): void {
    const waiting = this.#waiting.get(node)
    if (waiting !== undefined) waiting.push(item)
    else if (!this.#send(node, item)) {
      this.#waiting.set(node, [item])
      this.#retryLater()
    }
  }

  /** A node has ended: drops what waits for it. */
  forget(node: string): void {
    this.#waiting.delete(node)
  }

  /** Drops all that waits. */
  end(): void {
    this.#waiting.clear()
    this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Tries for 5 s more. */
  close(): void {
    this.#tries = lastTries
  }

  #retryLater(): void {
    this.#timer ??= this.#clock.setTimeout(() => {
      this.#timer = undefined
      this.#tries -= 1
      for (const [node, items] of this.#waiting) this.#retry(node, items)
      if (this.#tries <= 0) this.#waiting.clear()
      if (!this.isEmpty) this.#retryLater()
    }, retryAfter)
  }

  #retry(node: string, items: Item[]): void {
    const left = items.findIndex((item) => !this.#send(node, item))
    if (left === -1) this.#waiting.delete(node)
    else items.splice(0, left)
  }
}
