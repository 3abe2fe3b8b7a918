import { TransportError } from '../../base/errors.js'

/** Bytes of answers that are still coming, of all streams and bodies of one client together. */
export class AnswerBudget {
  readonly #max: number
  #used = 0

  constructor({ messageBytes, pendingBytes }: { messageBytes: number; pendingBytes: number }) {
    this.#max = Math.max(messageBytes, pendingBytes)
  }

  get used(): number {
    return this.#used
  }

  /** What one stream or body holds: nothing yet. */
  share(): AnswerShare {
    return new AnswerShare((more) => {
      if (more > 0 && this.#used + more > this.#max) throw full(this.#max)
      this.#used += more
    })
  }
}

class AnswerShare {
  readonly #take: (more: number) => void
  #held = 0

  constructor(take: (more: number) => void) {
    this.#take = take
  }

  /** Holds this many bytes from now on. Throws BYTES_LIMIT, and holds what it held. */
  hold(bytes: number): void {
    this.#take(bytes - this.#held)
    this.#held = bytes
  }

  release(): void {
    this.hold(0)
  }
}

function full(max: number): TransportError {
  const problem = `the answers of one server that are still coming may have ${max} bytes together (limits.pendingBytes)`
  return new TransportError('BYTES_LIMIT', problem, { retryable: true, data: { sent: true } })
}
