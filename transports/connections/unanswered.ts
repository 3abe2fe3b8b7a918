import type { Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import { type Answer, interrupted } from './answers.js'

/** The requests of one connection that wait for their answers. */
export class Unanswered {
  readonly #all = new Map<RequestId, Answer>()
  readonly #onAnswered: () => void

  /** `onAnswered` is told of each answer, after it was given. */
  constructor(onAnswered: () => void) {
    this.#onAnswered = onAnswered
  }

  get size(): number {
    return this.#all.size
  }

  has(id: RequestId): boolean {
    return this.#all.has(id)
  }

  add(id: RequestId, settle: Answer): void {
    this.#all.set(id, settle)
  }

  /** Once at most for each request, and not at all when it was cancelled. */
  answer(id: RequestId, settle: Answer, response: Message | undefined): void {
    if (this.#all.get(id) !== settle) return
    this.#all.delete(id)
    settle(response)
    this.#onAnswered()
  }

  /** Answers all with an error that may be retried. */
  interrupt(why: string): void {
    for (const [id, settle] of this.#all) this.answer(id, settle, interrupted(id, why))
  }

  /** Nobody is there any more who could be answered. */
  clear(): void {
    this.#all.clear()
    this.#onAnswered()
  }
}
