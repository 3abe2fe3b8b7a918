/** Allows `intensity` restarts within `periodMs`; in a ring, counting costs the same for any intensity. */
export class RestartWindow {
  readonly intensity: number
  readonly periodMs: number
  readonly #times: number[] = []
  #next = 0

  constructor(intensity: number, periodMs: number) {
    this.intensity = intensity
    this.periodMs = periodMs
  }

  /** Counts a restart; answers whether it is allowed. */
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

  left(now: number): number {
    const recent = this.#times.filter((time) => now - time <= this.periodMs).length
    return Math.max(0, this.intensity - recent)
  }
}
