import type { Message } from '../../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../../runtime/time/clock.js'

interface Held {
  readonly message: Message
  readonly send: () => void
}

/** Messages that wait until the server is ready for them, or until they have waited long enough. */
export class HeldMessages {
  readonly #clock: Clock
  #waiting: Held[] | undefined
  #timer: unknown

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Sends now, or once what is held may go; in order. */
  pass(message: Message, send: () => void): void {
    if (this.#waiting === undefined) send()
    else this.#waiting.push({ message, send })
  }

  /**
   * Holds what comes, and what is held already, for `time` ms from now at most; `late` is called when that is
   * over.
   */
  hold(time: number, late: () => void = () => {}): void {
    this.#clock.clearTimeout(this.#timer)
    this.#waiting ??= []
    this.#timer = this.#clock.setTimeout(() => {
      late()
      this.release()
    }, time)
  }

  release(): void {
    for (const { send } of this.#take()) send()
  }

  /** Nothing is held any more; answers what was, and will not be sent. */
  drop(): Message[] {
    return this.#take().map(({ message }) => message)
  }

  #take(): readonly Held[] {
    this.#clock.clearTimeout(this.#timer)
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    return waiting
  }
}
