import type { Dialect } from '../../protocol/dialects/dialect.js'
import { isWantedLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import { isObject } from '../../protocol/wire/json.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { Response } from '../../transports/contract/contract.js'
import type { ExchangeCall } from '../../transports/inbound/exchange-call.js'
import type { ServerError } from '../base/errors.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Carried, SessionFacts } from '../context/context.js'
import type { SessionUse } from '../context/session-state.js'
import type { UndeclaredNeeds } from '../definitions/session-needs.js'
import { run } from '../runs/run.js'
import { type RunHost, SeatWithoutSession } from '../runs/seat.js'
import { Conversation, type Retry, withId } from './conversation.js'
import type { Conversations } from './conversations.js'
import type { Exchange } from './exchange.js'

export interface ExchangeHost extends RunHost {
  readonly undeclared: UndeclaredNeeds
  readonly conversations: Conversations
}

const unknownClient = Object.freeze({ name: 'unknown', version: 'unknown' })

/**
 * A run in an exchange. It works for one request at a time, and may be parked between two; its time runs only
 * while there is one.
 */
export class ExchangeSeat extends SeatWithoutSession {
  declare readonly host: ExchangeHost
  readonly #conversation: Conversation
  #exchange: Exchange

  constructor(exchange: Exchange, retry: Retry, host: ExchangeHost) {
    super(host, exchange.work)
    this.#exchange = exchange
    this.#conversation = new Conversation(this, retry)
  }

  /** A call goes on with what its user has answered. */
  override get isCounted(): boolean {
    if (!super.isCounted) return false
    const { rates } = this.host.holdings
    const { requestState, inputResponses } = this.delivery.request.params ?? {}
    const goesOn = typeof requestState === 'string' && isObject(inputResponses)
    const hasAnswers = goesOn && Object.keys(inputResponses).length > 0
    return !hasAnswers || rates?.isNextRound(requestState) !== true
  }

  /** Starts the work, which may be done on return. Throws RuntimeError NOPROC without a task supervisor. */
  start(): void {
    const answering = this.#begin()
    if (!isPromise(answering)) return this.#ended(answering)
    this.#attend()
    void answering.then((response) => this.#ended(response))
  }

  #begin(): ReturnType<typeof run> {
    try {
      return run(this.#exchange.work, this)
    } catch (error) {
      // a retry would wait for the answer of a run that never was
      this.#conversation.ended(undefined, true)
      throw error
    }
  }

  /** Answers the request while the run goes on without one. */
  park(response: Response): void {
    this.stopClock()
    this.#exchange.settle(response)
  }

  /** Goes on for another request, with all its time. */
  resume(exchange: Exchange): void {
    this.#exchange = exchange
    if (this.isOver) return
    this.startClock()
    this.#attend()
  }

  /** Concluded at once: a retry of this very moment is to find no run that has no answer. */
  override cancel(): void {
    super.cancel()
    this.#ended(undefined)
  }

  /** Only for work that takes a while: a listener costs more than most of it. */
  #attend(): void {
    this.#exchange.onAbort(() => this.#clientGone())
  }

  #clientGone(): void {
    const next = this.#conversation.successor()
    if (next === undefined) return this.cancel()
    const gone = this.#exchange
    this.#exchange = next
    gone.settle(undefined)
    this.#attend()
  }

  #ended(response: Response | undefined): void {
    this.#conversation.ended(response, this.task.self.reason?.type === 'crash')
    this.#exchange.settle(response === undefined ? undefined : withId(response, this.#exchange))
  }

  get exchange(): Exchange {
    return this.#exchange
  }

  get delivery(): ExchangeCall {
    return this.#exchange.call
  }

  get dialect(): Dialect {
    return this.#exchange.dialect
  }

  get session(): SessionFacts {
    const { clientInfo: client = unknownClient, clientCapabilities: capabilities } = this.delivery.envelope
    return Object.freeze({ id: undefined, client, revision: this.dialect.revision, capabilities })
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    options: AskOptions,
  ): Promise<Result<M>> {
    this.checkOpen()
    return this.#conversation.ask(key, method, params, options)
  }

  async once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.checkOpen()
    return this.#conversation.once(key, fn)
  }

  carried(): Carried {
    return this.#conversation.carried
  }

  override get isActive(): boolean {
    return !this.isOver && this.#exchange.isOpen
  }

  protected noSession(use?: SessionUse): ServerError {
    return this.host.undeclared.found(this.work, this.dialect.revision, use)
  }

  protected wants(level: LoggingLevel): boolean {
    return isWantedLevel(level, this.delivery.envelope.logLevel)
  }
}
