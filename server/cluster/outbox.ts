import type { Clock } from '../../runtime/time/clock.js'

/** Milliseconds until what there was no room for is sent once more. */
const retryAfter = 50
/** How often that is done once its owner has ended, which does not hear of nodes any more. */
const lastTries = 100

/**
 * What other nodes wait for, such as answers: where there is no room for it, it is sent again until there is,
 * in the order it was given. It is bounded by the questions that nodes may ask at once.
 */
export class Outbox<Item> {
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

  /** A node has ended: nobody waits there any more. */
  forget(node: string): void {
    this.#waiting.delete(node)
  }

  /** What waits is not sent any more. */
  end(): void {
    this.#waiting.clear()
    this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** What waits has 5 s left. */
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
