import { createHash } from 'node:crypto'
import { canonical, type JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { stampResult } from '../../protocol/stateless/stamp.js'
import type { Implementation, RetryParams } from '../../protocol/messages/base.js'
import type { InputRequests } from '../../protocol/messages/input-required.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { Response } from '../../transports/contract/contract.js'
import { encodedResult } from '../requests/answer.js'
import { ownerOf } from '../base/owner.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { CallState, RequestStates } from '../holdings/request-state.js'
import { type AskedRound, type Conversation, firstTry, type Retry, withId } from './conversation.js'
import type { Exchange } from './exchange.js'
import { KeptOutcomes, Parking } from './parking.js'
import { readAnswers } from '../runs/answers.js'

/** Finds what a retry belongs to: its parked run, the kept outcome of the same retry, or a new run. */
export class Conversations {
  /** Milliseconds that a client has for an answer, unless the question says otherwise. */
  readonly questionTimeout: number
  readonly #states: RequestStates
  readonly #serverInfo: Implementation
  readonly #parking: Parking<Conversation>
  /** Those that work on answers, by the round that was answered. */
  readonly #answering = new Map<string, Conversation>()
  readonly #kept: KeptOutcomes

  constructor({ settings, requestStates }: Holdings, clock: Clock) {
    const { limits, timeouts, definition } = settings
    this.questionTimeout = timeouts.question
    this.#states = requestStates
    this.#serverInfo = definition.info
    this.#parking = new Parking(limits.parked, clock)
    this.#kept = new KeptOutcomes(clock.now)
  }

  /**
   * What a new run for this request begins with; undefined when a parked run, or a kept outcome, has taken
   * the request. Throws McpError -32602 for a bad retry, before anything runs.
   */
  enter(exchange: Exchange): Retry | undefined {
    const { requestState, inputResponses } = exchange.call.request.params as RetryParams
    if (requestState === undefined)
      // a client that sends answers without a state has lost it, or knows what it will be asked
      return inputResponses === undefined ? firstTry : { ...firstTry, offered: inputResponses }
    const state = this.#states.open(requestState, digestOf(exchange))
    const answers = readAnswers(state.asked, inputResponses)
    const round = roundOf(state)
    const answered = answers.size === 0 ? undefined : round
    if (answered !== undefined && this.#joins(exchange, round)) return undefined
    const retry = { state, answers, answered }
    const parked = this.#takeParked(state)
    if (parked === undefined) return retry
    parked.resume(exchange, retry)
    return undefined
  }

  answering(round: string, conversation: Conversation): void {
    this.#answering.set(round, conversation)
  }

  /** The answers to a round have led to this, which retries are to be answered with; undefined: to nothing. */
  concluded(round: string, outcome: Response | undefined): void {
    this.#answering.delete(round)
    if (outcome !== undefined) this.#kept.keep(round, outcome, this.questionTimeout)
  }

  /** The response that asks. Throws ServerError BAD_STATE where the state is too large. */
  write(exchange: Exchange, { state, questions, lifetime }: AskedRound): Response {
    const { id, method } = exchange.call.request
    const result = {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(questions) as InputRequests,
      requestState: this.#states.seal(state, digestOf(exchange), lifetime),
    }
    return encodedResult(id, stampResult(method, result, { serverInfo: this.#serverInfo }))
  }

  /** Keeps a run for the answers to this round; returns its key, or undefined when there is no room. */
  park(conversation: Conversation, { state, lifetime }: AskedRound): string | undefined {
    const { call, round } = state
    // an old state came again: the calls that continued from it stay
    if ((this.#parking.get(call)?.round ?? 0) > round) return undefined
    return this.#parking.park(call, conversation, lifetime) ? call : undefined
  }

  unpark(call: string): void {
    this.#parking.take(call)
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

  /** Whether the same answers came before; then this request gets their outcome. */
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
}

function roundOf({ call, round }: CallState): string {
  return `${call}.${round}`
}

function digestOf({ call: { request, peer } }: Exchange): string {
  return digestRequest(request, ownerOf(peer))
}

/**
 * Identifies a request and its owner: the same for each retry, in whatever order its arguments are written.
 */
export function digestRequest({ method, params = {} }: JsonRpcRequest, owner: string | undefined): string {
  const { name, uri, arguments: args = {} } = params as JsonObject
  const parts = [owner ?? null, method, name ?? null, uri ?? null, args]
  return createHash('sha256').update(canonical(parts)).digest('base64url')
}
