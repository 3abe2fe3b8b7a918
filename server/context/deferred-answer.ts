/** An answer that other code gives later: the call waits for `answer`. */
export class DeferredAnswer<Value = unknown> {
  /** What the handler returns: settled by `resolve` or `reject` only. */
  readonly answer: Promise<Value>
  readonly #signal: AbortSignal
  #resolve: (value: Value) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  #isGiven = false

  /** `signal`: of the call. */
  constructor(signal: AbortSignal) {
    this.#signal = signal
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // the handler may have returned something else: a rejection is no stray error then
    this.answer.catch(() => {})
  }

  /** Whether an answer still counts: none was given, and the call is neither cancelled nor out of time. */
  get open(): boolean {
    return !this.#isGiven && !this.#signal.aborted
  }

  /** Gives the answer. False when it is too late, and then nothing happens. */
  resolve(value: Value): boolean {
    return this.#give(() => this.#resolve(value))
  }

  /** Fails the call, like a throw of its handler. False when it is too late. */
  reject(error: unknown): boolean {
    return this.#give(() => this.#reject(error))
  }

  #give(give: () => void): boolean {
    if (!this.open) return false
    this.#isGiven = true
    give()
    return true
  }
}
