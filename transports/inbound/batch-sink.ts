import type { Message } from '../../protocol/wire/jsonrpc.js'
import type { MessageSink, Outcome } from '../contract/contract.js'

/** Tells when a batch has all its answers. One message that could not be served fails the batch. */
export class BatchSink implements MessageSink {
  readonly #sink: MessageSink
  #left: number

  /** `count` outcomes are to come. */
  constructor(sink: MessageSink, count: number) {
    this.#sink = sink
    this.#left = count
    if (count === 0) sink.end({ type: 'answers' })
  }

  send(message: Message): boolean {
    return this.#sink.send(message)
  }

  negotiated(revision: string): void {
    this.#sink.negotiated?.(revision)
  }

  end(outcome: Outcome): void {
    if (this.#left === 0) return
    this.#left -= 1
    if (outcome.type === 'failed') {
      this.#left = 0
      return this.#sink.end(outcome)
    }
    if ('response' in outcome && outcome.response !== undefined) this.#sink.gather?.(outcome.response)
    if (this.#left === 0) this.#sink.end({ type: 'answers' })
  }
}
