import type { Clock } from '../runtime/clock.js'

/** Messages that wait until the server is ready for them, or until they have waited long enough. */
export class HeldMessages {
  readonly #clock: Clock
  #waiting: (() => void)[] | undefined
  #timer: unknown

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Sends now, or once what is held may go; in order. */
  pass(send: () => void): void {
    if (this.#waiting === undefined) send()
    else this.#waiting.push(send)
  }

  /** Holds what comes, and what is held already, for `time` ms from now at most; `late` is called when that is over. */
  hold(time: number, late: () => void = () => {}): void {
    this.#clock.clearTimeout(this.#timer)
    this.#waiting ??= []
    this.#timer = this.#clock.setTimeout(() => {
      late()
      this.release()
    }, time)
  }

  release(): void {
    this.#clock.clearTimeout(this.#timer)
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const send of waiting) send()
  }
}
