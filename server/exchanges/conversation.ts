import type { Question } from '../../protocol/dialects/capabilities.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import { show } from '../../runtime/base/errors.js'
import type { Response } from '../../transports/contract/contract.js'
import { encodedResult } from '../requests/answer.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import { AskError, ServerError, optionError } from '../base/errors.js'
import type { Exchange } from './exchange.js'
import type { Dialogue, ExchangeRun } from './exchange-run.js'
import type { Parkable } from './parking.js'
import type { Answer, CallState } from '../holdings/request-state.js'
import { withRequirements } from '../requests/question.js'
import { type OpenQuestion, Rounds } from './rounds.js'
import { ownerOf } from '../base/owner.js'
import { readQuestion } from '../requests/question.js'
import { noteQuestion, Steps } from '../context/steps.js'

/** What a retry brings to the run that goes on with its call. */
export interface Retry {
  /** Undefined when it came without one. */
  readonly state: CallState | undefined
  readonly answers: ReadonlyMap<string, Answer>
  /** The name of the round that was answered; undefined when no answer came. */
  readonly answered: string | undefined
  /** Answers that came without a state. */
  readonly offered?: JsonObject
}

/** What one round asks; params as the client's revision has them. */
export interface Asked {
  readonly state: CallState
  readonly questions: ReadonlyMap<string, { readonly method: Question; readonly params: object }>
  /** Milliseconds that the client has. */
  readonly lifetime: number
}

/** What the conversations of a server share. */
export interface ConversationHost {
  /** Milliseconds that a client has for an answer, unless the question says otherwise. */
  readonly askTimeout: number
  /** The response that asks. Throws ServerError BAD_STATE where there is too much to be kept. */
  write(exchange: Exchange, asked: Asked): Response
  /**
   * Keeps the run for the client's answers to this round, under the name that it returns; undefined when
   * there is no room.
   */
  park(conversation: Conversation, asked: Asked): string | undefined
  /** A parked run has ended, and need not be kept. */
  unpark(name: string): void
  /** What the answers to a round have led to; undefined: to nothing. */
  concluded(round: string, response: Response | undefined): void
}

/** Milliseconds that a question waits for steps (`ctx.once`) that run beside it. */
const maxStepTime = 30_000

/**
 * How one run of a handler asks its client, in as many requests as it takes (specification: 2026-07-28,
 * mrtr).
 */
export class Conversation implements Dialogue, Parkable {
  readonly #run: ExchangeRun
  readonly #host: ConversationHost
  readonly #retry: Retry | undefined
  /** Both are made when they are needed: most calls never ask. */
  #rounds: Rounds | undefined
  #steps: Steps | undefined
  /** Fires when the handler has done all that it could do without an answer. */
  #quiet: NodeJS.Immediate | undefined
  /** Runs while steps are waited for. */
  #waiting: unknown
  #isLate = false
  /** The round whose answers are being worked on; undefined when the request has brought none. */
  #answered: string | undefined
  /** Requests that have brought the answers of the same round, and wait for the same outcome. */
  readonly #joined: Exchange[] = []
  #parkedAs: string | undefined
  /** What the run has come to while nobody waited. */
  #outcome: Response | undefined

  constructor(run: ExchangeRun, host: ConversationHost, retry?: Retry) {
    this.#run = run
    this.#host = host
    this.#retry = retry
    this.#answered = retry?.answered
  }

  get owner(): string | undefined {
    return ownerOf(this.#run.exchange.call.peer)
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    { timeout = this.#host.askTimeout }: AskOptions,
  ): Promise<Result<M>> {
    if (!(typeof timeout === 'number' && timeout > 0))
      throw optionError('timeout', `timeout: expected milliseconds above 0, got ${show(timeout)}`)
    if (method === 'ping')
      throw new AskError(
        'MISSING_CAPABILITY',
        `ping: revision ${this.#run.dialect.revision} does not have it`,
      )
    const question: Question = method
    const known = this.#known.take(key, question)
    if (known !== undefined) return known as object as Result<M>
    this.#fit(question, params)
    noteQuestion()
    const answer = new Promise<JsonObject>((resolve, reject) => {
      this.#known.add(key, { method: question, params, timeout, resolve, reject })
    })
    this.#askSoon()
    return (await answer) as object as Result<M>
  }

  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    return this.#done.once(key, fn)
  }

  /** How many times it has asked. */
  get round(): number {
    return this.#known.round
  }

  /** The client is back; what it has left out is asked again. */
  resume(exchange: Exchange, { answers, answered }: Retry): void {
    this.#parkedAs = undefined
    this.#answered = answered
    if (this.#outcome !== undefined) {
      exchange.settle(withId(this.#outcome, exchange))
      return this.#conclude(this.#outcome)
    }
    this.#run.resume(exchange)
    this.#known.learn(answers)
    if (this.#known.open.size > 0) this.#askSoon()
  }

  /** The same answers came once more: they lead to the same. */
  join(exchange: Exchange): void {
    this.#joined.push(exchange)
    exchange.onAbort(() => {
      this.#joined.splice(this.#joined.indexOf(exchange), 1)
      exchange.settle(undefined)
    })
  }

  successor(): Exchange | undefined {
    return this.#joined.shift()
  }

  expire(): void {
    this.#parkedAs = undefined
    this.#run.cancel()
  }

  ended(response: Response | undefined): void {
    clearImmediate(this.#quiet)
    if (this.#waiting !== undefined) this.#stopWaiting()
    if (this.#parkedAs === undefined) return this.#conclude(response)
    if (response !== undefined && 'result' in response) this.#outcome = response
    else this.#host.unpark(this.#parkedAs) // the retry runs the handler again
  }

  /** Questions of the same turn travel together. */
  #askSoon(): void {
    clearImmediate(this.#quiet)
    this.#quiet = setImmediate(() => this.#ask())
  }

  #ask(): void {
    // the work may be done, or its client gone
    if (!this.#run.isActive || this.#known.open.size === 0) return
    const steps = this.#steps?.settling
    if (steps !== undefined && !this.#isLate) return this.#await(steps)
    if (this.#waiting !== undefined) this.#stopWaiting()
    try {
      const questions = this.#fitAll()
      if (questions === undefined) return this.#askSoon()
      const lifetime = Math.max(...[...this.#known.open.values()].map(({ timeout }) => timeout))
      const asked = { state: this.#known.next(this.#done.finished), questions, lifetime }
      const response = this.#host.write(this.#run.exchange, asked)
      this.#parkedAs = this.#host.park(this, asked)
      this.#run.park(response)
      this.#conclude(response)
      if (this.#parkedAs === undefined) this.#run.cancel()
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      for (const key of [...this.#known.open.keys()]) this.#known.drop(key, error)
    }
  }

  /**
   * What is begun is not to be done again by the next run; but a step may also wait for the very question, in
   * a way that does not show.
   */
  #await(steps: Promise<unknown>): void {
    this.#waiting ??= this.#run.host.clock.setTimeout(() => {
      this.#isLate = true
      this.#askSoon()
    }, maxStepTime)
    void steps.then(() => this.#askSoon())
  }

  #stopWaiting(): void {
    this.#run.host.clock.clearTimeout(this.#waiting)
    this.#waiting = undefined
    this.#isLate = false
  }

  #conclude(response: Response | undefined): void {
    const round = this.#answered
    this.#answered = undefined
    if (round !== undefined) this.#host.concluded(round, response)
    for (const exchange of this.#joined.splice(0))
      exchange.settle(response === undefined ? undefined : withId(response, exchange))
  }

  /**
   * All open questions as this client is to be asked; undefined when it cannot be asked one of them, which
   * that one has been told.
   */
  #fitAll(): Map<string, { method: Question; params: object }> | undefined {
    const questions = new Map<string, { method: Question; params: object }>()
    const { open } = this.#known
    const total = open.size
    for (const [key, { method, params }] of open) {
      try {
        questions.set(key, { method, params: this.#fit(method, params) })
      } catch (error) {
        this.#known.drop(key, error as Error)
      }
    }
    return questions.size === total ? questions : undefined
  }

  /** Throws AskError MISSING_CAPABILITY, and ServerError BAD_OPTION for what is no question. */
  #fit(method: Question, params: OpenQuestion['params']): object {
    const { dialect, exchange } = this.#run
    try {
      const capabilities = exchange.call.envelope.clientCapabilities
      return readQuestion(method, params as never, { dialect, capabilities }) ?? {}
    } catch (error) {
      throw withRequirements(error)
    }
  }

  get #known(): Rounds {
    if (this.#rounds !== undefined) return this.#rounds
    this.#rounds = new Rounds(this.#retry?.state, this.#retry?.offered)
    if (this.#retry !== undefined) this.#rounds.learn(this.#retry.answers)
    return this.#rounds
  }

  get #done(): Steps {
    this.#steps ??= new Steps(this.#retry?.state?.steps)
    return this.#steps
  }
}

/** The same answer to another request. */
export function withId(response: Response, { call }: Exchange): Response {
  const { id } = call.request
  return 'result' in response ? encodedResult(id, response.result) : { ...response, id }
}
