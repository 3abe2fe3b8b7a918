import type { Clock } from '../../runtime/time/clock.js'

/** Milliseconds that a node has left without the connection that it hears of others on. */
const lastWords = 1_000

/**
 * The lease of this node, on its own monotonic clock: it is over here before the engine gives its sessions
 * away, as it is counted from when the beat was sent. It is looked at rather than waited for: a program that
 * was stopped for a while finds it over at its first look.
 */
export class Lease {
  readonly #length: number
  readonly #clock: Clock
  #until = Number.NEGATIVE_INFINITY

  constructor(length: number, clock: Clock) {
    this.#length = length
    this.#clock = clock
  }

  get isOver(): boolean {
    return this.left <= 0
  }

  /** Milliseconds; 0 and less when it is over. */
  get left(): number {
    return this.#until - this.#clock.now()
  }

  /** By a beat that was sent at this time, for so many ms at most. */
  renew(sentAt: number, granted: number): void {
    this.#until = Math.max(this.#until, sentAt + Math.min(this.#length, granted))
  }

  shorten(): void {
    this.#until = Math.min(this.#until, this.#clock.now() + lastWords)
  }

  end(): void {
    this.#until = Number.NEGATIVE_INFINITY
  }
}
