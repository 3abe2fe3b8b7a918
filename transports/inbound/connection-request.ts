import { buildNotification, type Message, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { MessageSink, Outcome } from '../contract/contract.js'
import type { InboundConnection } from './connection.js'
import type { OpenRequest } from './requests.js'

interface RequestParts {
  readonly id: RequestId
  readonly size: number
  /** Whether only its client ends it. */
  readonly lasts: boolean
  /** Where its outcome goes. */
  readonly answer: MessageSink
  begin(sink: MessageSink): void
}

/** A request of a connection, and the sink of its answer. Once it is over, nothing of it is written. */
export class ConnectionRequest implements OpenRequest, MessageSink {
  readonly id: RequestId
  readonly size: number
  isOver = false
  readonly #connection: InboundConnection
  readonly #parts: RequestParts
  #hasBegun = false
  #onGone: (() => void) | undefined

  constructor(connection: InboundConnection, parts: RequestParts) {
    this.#connection = connection
    this.#parts = parts
    this.id = parts.id
    this.size = parts.size
  }

  begin(): void {
    this.#hasBegun = true
    this.#parts.begin(this)
  }

  send(message: Message): boolean {
    return !this.isOver && this.#connection.send(message)
  }

  onGone(fn: (() => void) | undefined): void {
    this.#onGone = fn
  }

  end(outcome: Outcome): void {
    this.#connection.answer(this, outcome)
  }

  settle(outcome: Outcome): void {
    this.isOver = true
    this.#parts.answer.end(outcome)
    if (outcome.type === 'answered') this.#sayEnd()
  }

  /** Nobody else will answer it: its handler need not go on. */
  interrupt(outcome: Outcome): void {
    this.settle(outcome)
    this.drop()
    this.#sayEnd()
  }

  /** Its client has gone. */
  drop(): void {
    this.isOver = true
    this.#onGone?.()
    this.#onGone = undefined
  }

  /** One page of the specification asks for a result, another for this: both are sent, in this order. */
  #sayEnd(): void {
    if (!this.#parts.lasts || !this.#hasBegun) return
    const params = { requestId: this.id, reason: 'the subscription has ended' }
    this.#connection.send(buildNotification('notifications/cancelled', params))
  }
}
