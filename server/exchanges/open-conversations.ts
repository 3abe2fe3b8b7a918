import type { JsonObject } from '../../protocol/wire/json.js'
import { stampResult } from '../../protocol/stateless/stamp.js'
import type { Implementation, RetryParams } from '../../protocol/messages/base.js'
import type { InputRequests } from '../../protocol/messages/input-required.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { Response } from '../../transports/contract/contract.js'
import { encodedResult } from '../requests/answer.js'
import { type Asked, Conversation, type ConversationHost, withId } from './conversation.js'
import type { Exchange } from './exchange.js'
import type { OpenDialogue } from './exchange-run.js'
import type { Conversations } from './exchanges.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { KeptOutcomes } from './kept-outcomes.js'
import { Parking } from './parking.js'
import { digestRequest } from './request-digest.js'
import type { CallState, RequestStates } from '../holdings/request-state.js'
import { readAnswers } from './rounds.js'
import { ownerOf } from '../base/owner.js'

/**
 * Finds what a retry belongs to: the run that waits for it, the outcome of the same retry made before, or
 * else a new run that begins with what the `requestState` says. One for each incarnation of the group.
 */
export class OpenConversations implements Conversations, ConversationHost {
  readonly askTimeout: number
  readonly #states: RequestStates
  readonly #serverInfo: Implementation
  readonly #parking: Parking<Conversation>
  /** Those that work on answers, by the round that was answered. */
  readonly #answering = new Map<string, Conversation>()
  readonly #kept: KeptOutcomes
  readonly #openFirst: OpenDialogue = (run) => new Conversation(run, this)

  constructor({ settings, requestStates }: Holdings, clock: Clock) {
    const { askTimeout, parking, definition } = settings
    this.askTimeout = askTimeout
    this.#states = requestStates
    this.#serverInfo = definition.info
    this.#parking = new Parking(parking, clock)
    this.#kept = new KeptOutcomes(clock.now)
  }

  enter(exchange: Exchange): OpenDialogue | undefined {
    const { requestState, inputResponses } = exchange.call.request.params as RetryParams
    if (requestState === undefined)
      return inputResponses === undefined ? this.#openFirst : this.#openWith(inputResponses)
    const state = this.#states.open(requestState, digestOf(exchange))
    const answers = readAnswers(state.asked, inputResponses)
    const round = roundOf(state)
    const retry = { state, answers, answered: answers.size === 0 ? undefined : round }
    if (retry.answered !== undefined && this.#joins(exchange, round)) return undefined
    const parked = this.#takeParked(state)
    if (parked === undefined)
      return (run) => this.#answers(new Conversation(run, this, retry), retry.answered)
    this.#answers(parked, retry.answered).resume(exchange, retry)
    return undefined
  }

  /** A client that sends answers and no state has lost it, or knows what it will be asked. */
  #openWith(offered: JsonObject): OpenDialogue {
    const retry = { state: undefined, answers: new Map(), answered: undefined, offered }
    return (run) => new Conversation(run, this, retry)
  }

  write(exchange: Exchange, { state, questions, lifetime }: Asked): Response {
    const { id, method } = exchange.call.request
    const result = {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(questions) as InputRequests,
      requestState: this.#states.seal(state, digestOf(exchange), lifetime),
    }
    return encodedResult(id, stampResult(method, result, { serverInfo: this.#serverInfo }))
  }

  park(conversation: Conversation, { state, lifetime }: Asked): string | undefined {
    const { call, round } = state
    // an old state came once more: what went on from it stays
    if ((this.#parking.get(call)?.round ?? 0) > round) return undefined
    return this.#parking.park(call, conversation, lifetime) ? call : undefined
  }

  unpark(call: string): void {
    this.#parking.take(call)
  }

  concluded(round: string, response: Response | undefined): void {
    this.#answering.delete(round)
    // an error may be mended by the next try
    if (response !== undefined && 'result' in response) this.#kept.keep(round, response, this.askTimeout)
  }

  #takeParked({ call, round }: CallState): Conversation | undefined {
    const parked = this.#parking.get(call)
    if (parked === undefined || parked.round > round) return undefined
    this.#parking.take(call)
    if (parked.round === round) return parked
    // another program has gone on with it
    parked.expire()
    return undefined
  }

  /** Whether the same answers came before, and lead to the same. */
  #joins(exchange: Exchange, round: string): boolean {
    const kept = this.#kept.get(round)
    if (kept !== undefined) {
      exchange.settle(withId(kept, exchange))
      return true
    }
    const conversation = this.#answering.get(round)
    conversation?.join(exchange)
    return conversation !== undefined
  }

  #answers(conversation: Conversation, round: string | undefined): Conversation {
    if (round !== undefined) this.#answering.set(round, conversation)
    return conversation
  }
}

function roundOf({ call, round }: CallState): string {
  return `${call}.${round}`
}

function digestOf({ call: { request, peer } }: Exchange): string {
  return digestRequest(request, ownerOf(peer))
}
