import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { Response } from '../../transports/contract/contract.js'
import type { ExchangeAnswer, ExchangeCall } from '../../transports/inbound/exchange-call.js'
import { callerOf } from '../../transports/contract/caller.js'
import type { Work } from '../requests/work.js'

/** Called once, when an exchange has its answer. */
type OnSettled = (exchange: Exchange, answer: ExchangeAnswer) => void

/** One request of a revision without sessions, until it is answered. */
export class Exchange {
  readonly call: ExchangeCall
  readonly dialect: Dialect
  readonly work: Work
  /** Whose share it counts for. */
  readonly caller: string
  /** When it came, by the clock of the tree. */
  readonly startedAt: number
  readonly #onSettled: OnSettled
  #answer: ExchangeAnswer | undefined
  #resolve: ((answer: ExchangeAnswer | Promise<never>) => void) | undefined

  constructor(call: ExchangeCall, dialect: Dialect, work: Work, startedAt: number, onSettled: OnSettled) {
    this.call = call
    this.dialect = dialect
    this.work = work
    this.caller = callerOf(call.peer, undefined)
    this.startedAt = startedAt
    this.#onSettled = onSettled
  }

  get isOpen(): boolean {
    return this.#answer === undefined
  }

  /** Answers it; undefined: it was cancelled. Answering it again has no effect. */
  settle(response: Response | undefined, refused = false): void {
    if (this.#answer !== undefined) return
    this.#answer = { response, refused }
    this.ignoreAbort()
    this.#onSettled(this, this.#answer)
    this.#resolve?.(this.#answer)
  }

  /**
   * Settles it with `response`, and rejects the promise of who waits with `error`: no fault of the client's.
   */
  fail(error: unknown, response: Response): void {
    const tell = this.#resolve
    this.#resolve = undefined
    this.settle(response)
    tell?.(Promise.reject(error))
  }

  /** Calls `fn` when the client cancels or goes away, at once if it has; only the last `fn` is called. */
  onAbort(fn: () => void): void {
    this.call.onAbort(fn)
  }

  ignoreAbort(): void {
    this.call.onAbort(undefined)
  }

  answered(): Promise<ExchangeAnswer> {
    if (this.#answer !== undefined) return Promise.resolve(this.#answer)
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }
}
