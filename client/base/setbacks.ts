import { type BackoffOptions, pauseAfter, pauseLeft } from './backoff.js'

/**
 * How long to wait before something is started again that ended: not at all the first time it is started,
 * then longer with every failure, less while somebody waits; forgotten when it has run for a stable time.
 */
export class Setbacks {
  readonly #backoff: Required<BackoffOptions>
  #failures = 0
  #began: number | undefined
  #ran = 0

  constructor(backoff: Required<BackoffOptions>) {
    this.#backoff = backoff
  }

  /** It starts to run. */
  began(now: number): void {
    this.#began = now
  }

  /** It has ended: milliseconds to wait before the next start. */
  next(now: number, awaited: boolean): number {
    if (this.#began === undefined) return 0
    this.#ran = now - this.#began
    if (this.#ran >= this.#backoff.stable) this.#failures = 0
    this.#failures += 1
    return pauseAfter({ failures: this.#failures - 1, awaited, busy: this.#ran }, this.#backoff)
  }

  /** Milliseconds that are left of a pause once somebody begins to wait. */
  left(ms: number): number {
    return pauseLeft(ms, this.#ran, this.#backoff)
  }
}
