import type { BackoffOptions } from './options.js'

/**
 * How long to wait before something is started again that ended: not at all the first time it is started, then with full jitter below a
 * ceiling that doubles; forgotten when it has run for a stable time.
 */
export class Setbacks {
  readonly #backoff: Required<BackoffOptions>
  #failures = 0
  #began: number | undefined

  constructor(backoff: Required<BackoffOptions>) {
    this.#backoff = backoff
  }

  /** It starts to run. */
  began(now: number): void {
    this.#began = now
  }

  /** Milliseconds to wait before the next start. */
  next(now: number): number {
    const { base, cap, stable, random } = this.#backoff
    if (this.#began === undefined) return 0
    if (now - this.#began >= stable) this.#failures = 0
    const ceiling = Math.min(cap, base * 2 ** this.#failures)
    this.#failures += 1
    return random() * ceiling
  }
}
