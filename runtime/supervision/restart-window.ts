/**
 * Counts restarts within the last `periodMs`: `intensity` of them are fine, one more is not (OTP supervisor,
 * restart intensity). A ring of `intensity + 1` times, so that counting costs the same however large the
 * intensity is.
 */
export class RestartWindow {
  readonly intensity: number
  readonly periodMs: number
  readonly #times: number[] = []
  #next = 0

  constructor(intensity: number, periodMs: number) {
    this.intensity = intensity
    this.periodMs = periodMs
  }

  /** Counts a restart at `now` and says whether it is still allowed. */
  add(now: number): boolean {
    const size = this.intensity + 1
    if (!Number.isFinite(size)) return true
    if (this.#times.length < size) this.#times.push(now)
    else this.#times[this.#next] = now
    this.#next = (this.#next + 1) % size
    if (this.#times.length < size) return true
    const oldest = this.#times[this.#next % size] ?? now
    return now - oldest > this.periodMs
  }

  /** How many restarts are left in the window that ends at `now`. */
  left(now: number): number {
    const recent = this.#times.filter((time) => now - time <= this.periodMs).length
    return Math.max(0, this.intensity - recent)
  }
}
