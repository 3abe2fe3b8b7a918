import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { ExchangeAnswer, ExchangeCall, Response } from '../../transports/contract/contract.js'

/** Whoever is told that a request was answered, once for each. */
export interface ExchangeOwner {
  settled(exchange: Exchange, response: Response | undefined): void
}

/** One request of a revision without sessions, until it is answered; nothing of it is kept afterwards. */
export class Exchange {
  readonly call: ExchangeCall
  readonly dialect: Dialect
  /** When it came, by the clock of the tree. */
  readonly startedAt: number
  readonly #owner: ExchangeOwner
  #answer: ExchangeAnswer | undefined
  #resolve: ((answer: ExchangeAnswer | Promise<never>) => void) | undefined
  #onAbort: (() => void) | undefined

  constructor(call: ExchangeCall, dialect: Dialect, startedAt: number, owner: ExchangeOwner) {
    this.call = call
    this.dialect = dialect
    this.startedAt = startedAt
    this.#owner = owner
  }

  /** Whether it has no answer yet: whatever is told after that has no effect. */
  get isOpen(): boolean {
    return this.#answer === undefined
  }

  /** Answers it; undefined: it was cancelled. Answering it again has no effect. */
  settle(response: Response | undefined, refused = false): void {
    if (this.#answer !== undefined) return
    this.#answer = { response, refused }
    this.ignoreAbort()
    this.#owner.settled(this, response)
    this.#resolve?.(this.#answer)
  }

  /** It could not be worked on, for what no client has done wrong: whoever waits for the answer is told. */
  fail(error: unknown, response: Response): void {
    const tell = this.#resolve
    this.#resolve = undefined
    this.settle(response)
    tell?.(Promise.reject(error))
  }

  /**
   * Calls `fn` when the client goes away or cancels before the answer, at once if it has done so; only the
   * last `fn` is called.
   */
  onAbort(fn: () => void): void {
    const { call } = this
    this.ignoreAbort()
    this.#onAbort = fn
    if (call.onAbort !== undefined) return call.onAbort(fn)
    if (call.signal.aborted) return fn()
    call.signal.addEventListener('abort', fn, { once: true })
  }

  ignoreAbort(): void {
    const { call } = this
    const fn = this.#onAbort
    if (fn === undefined) return
    this.#onAbort = undefined
    if (call.onAbort !== undefined) call.onAbort(undefined)
    else call.signal.removeEventListener('abort', fn)
  }

  /** The answer, once it is there; for one who waits. */
  answered(): Promise<ExchangeAnswer> {
    if (this.#answer !== undefined) return Promise.resolve(this.#answer)
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }
}
