import type { Question } from '../../protocol/dialects/capabilities.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import type { World } from '../../runtime/time/world.js'
import type { Response } from '../../transports/contract/contract.js'
import { encodedResult } from '../requests/answer.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Carried } from '../context/context.js'
import { AskError, ServerError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import type { Conversations } from './conversations.js'
import type { Exchange } from './exchange.js'
import type { ExchangeSeat } from './exchange-seat.js'
import type { QuestionAnswer, CallState } from '../holdings/request-state.js'
import { type OpenQuestion, Rounds } from './rounds.js'
import { ownerOf } from '../base/owner.js'
import { readQuestion, withRequirements } from '../requests/question.js'
import { noteQuestion, Steps } from '../context/steps.js'

export interface Retry {
  readonly state: CallState | undefined
  readonly answers: ReadonlyMap<string, QuestionAnswer>
  readonly answered: string | undefined
  /** Answers that came without a state. */
  readonly offered?: JsonObject
}

export const firstTry: Retry = Object.freeze({ state: undefined, answers: new Map(), answered: undefined })

/** What one round asks; params as the client's revision has them. */
export interface AskedRound {
  readonly state: CallState
  readonly questions: ReadonlyMap<string, { readonly method: Question; readonly params: object }>
  /** Milliseconds that the client has. */
  readonly lifetime: number
}

/** The methods that may ask their client (specification: 2026-07-28, mrtr). */
export const conversing: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

const { readMs } = readersOf()
/** Milliseconds that a question waits for steps (`ctx.once`) that run beside it. */
const maxStepTime = 30_000

/** How one run of a handler asks its client (specification: 2026-07-28, mrtr). */
export class Conversation {
  readonly #run: ExchangeSeat
  readonly #retry: Retry
  /** Both are made when they are needed: most calls never ask. */
  #rounds: Rounds | undefined
  #steps: Steps | undefined
  /** Fires when the handler has done all that it could do without an answer. */
  #quiet: unknown
  #waiting: unknown
  #isLate = false
  /** The round whose answers are being worked on; undefined when the request has brought none. */
  #answered: string | undefined
  /** Requests that have brought the answers of the same round, and wait for the same outcome. */
  readonly #joined: Exchange[] = []
  #parkedAs: string | undefined
  #weight: number | undefined
  #outcome: Response | undefined

  constructor(run: ExchangeSeat, retry: Retry) {
    this.#run = run
    this.#retry = retry
    this.#begin(retry)
  }

  get owner(): string | undefined {
    return ownerOf(this.#run.exchange.call.peer)
  }

  /** Of the request that it parks first. */
  get weight(): number {
    this.#weight ??= JSON.stringify(this.#run.exchange.call.request.params ?? {}).length
    return this.#weight
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    { timeout = this.#all.questionTimeout }: AskOptions,
  ): Promise<Result<M>> {
    const { call, dialect } = this.#run.exchange
    if (!conversing.has(call.request.method))
      throw new AskError('MISSING_CAPABILITY', `${method}: this request has no way to ask its client`)
    readMs(timeout, 'timeout')
    if (method === 'ping')
      throw new AskError('MISSING_CAPABILITY', `ping: revision ${dialect.revision} does not have it`)
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

  get round(): number {
    return this.#known.round
  }

  get carried(): Carried {
    return { answers: this.#known.answers, steps: this.#done.finished }
  }

  /** Goes on with a retry; questions that it does not answer are asked again. */
  resume(exchange: Exchange, retry: Retry): void {
    this.#parkedAs = undefined
    this.#begin(retry)
    if (this.#outcome !== undefined) {
      exchange.settle(withId(this.#outcome, exchange))
      return this.#conclude(this.#outcome)
    }
    this.#run.resume(exchange)
    this.#known.learn(retry.answers)
    if (this.#known.open.size > 0) this.#askSoon()
  }

  join(exchange: Exchange): void {
    this.#joined.push(exchange)
    exchange.onAbort(() => {
      this.#joined.splice(this.#joined.indexOf(exchange), 1)
      exchange.settle(undefined)
    })
  }

  /** A joined request that the run can work for when the client of its own has gone. */
  successor(): Exchange | undefined {
    return this.#joined.shift()
  }

  expire(): void {
    this.#parkedAs = undefined
    this.#run.cancel()
  }

  /**
   * The run has ended with this answer to its last request, maybe by a crash; undefined when that was cancelled.
   */
  ended(response: Response | undefined, isCrash: boolean): void {
    if (this.#quiet !== undefined) this.#world.clearImmediate(this.#quiet)
    if (this.#waiting !== undefined) this.#stopWaiting()
    if (this.#parkedAs === undefined) return this.#conclude(response, isCrash)
    if (isOutcome(response, isCrash)) this.#outcome = response
    else this.#all.unpark(this.#parkedAs) // the retry runs the handler again
  }

  #begin({ answered }: Retry): void {
    this.#answered = answered
    if (answered !== undefined) this.#all.answering(answered, this)
  }

  /** Questions of the same turn travel together. */
  #askSoon(): void {
    if (this.#quiet !== undefined) this.#world.clearImmediate(this.#quiet)
    this.#quiet = this.#world.setImmediate(() => this.#ask())
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
      const response = this.#all.write(this.#run.exchange, asked)
      this.#parkedAs = this.#all.park(this, asked)
      this.#run.park(response)
      this.#conclude(response)
      if (this.#parkedAs === undefined) this.#run.cancel()
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      for (const key of [...this.#known.open.keys()]) this.#known.drop(key, error)
    }
  }

  /** Lets running steps finish first, for a bounded time: a step may be waiting for this very question. */
  #await(steps: Promise<unknown>): void {
    this.#waiting ??= this.#world.setTimeout(() => {
      this.#isLate = true
      this.#askSoon()
    }, maxStepTime)
    void steps.then(() => this.#askSoon())
  }

  #stopWaiting(): void {
    this.#world.clearTimeout(this.#waiting)
    this.#waiting = undefined
    this.#isLate = false
  }

  #conclude(response: Response | undefined, isCrash = false): void {
    const round = this.#answered
    this.#answered = undefined
    if (round !== undefined) this.#all.concluded(round, isOutcome(response, isCrash) ? response : undefined)
    for (const exchange of this.#joined.splice(0))
      exchange.settle(response === undefined ? undefined : withId(response, exchange))
  }

  /** All open questions, shaped for this client; undefined when it cannot be asked one, which is rejected. */
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

  /** Throws AskError MISSING_CAPABILITY, and ServerError BAD_OPTION for a bad question. */
  #fit(method: Question, params: OpenQuestion['params']): object {
    const { dialect, call } = this.#run.exchange
    try {
      const capabilities = call.envelope.clientCapabilities
      return readQuestion(method, params as never, { dialect, capabilities }) ?? {}
    } catch (error) {
      throw withRequirements(error)
    }
  }

  get #known(): Rounds {
    if (this.#rounds === undefined) {
      this.#rounds = new Rounds(this.#world, this.#retry.state, this.#retry.offered)
      this.#rounds.learn(this.#retry.answers)
    }
    return this.#rounds
  }

  get #done(): Steps {
    this.#steps ??= new Steps(this.#retry.state?.steps)
    return this.#steps
  }

  get #world(): World {
    return this.#run.host.world
  }

  get #all(): Conversations {
    return this.#run.host.conversations
  }
}

/** Whether retries are answered with this: after an error or a crash the next try may fare better. */
function isOutcome(response: Response | undefined, isCrash: boolean): response is Response {
  return response !== undefined && 'result' in response && !isCrash
}

export function withId(response: Response, { call }: Exchange): Response {
  const { id } = call.request
  if (response.id === id) return response
  return 'result' in response ? encodedResult(id, response.result) : { ...response, id }
}
