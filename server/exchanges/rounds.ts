import type { Question } from '../../protocol/dialects/capabilities.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { readResult } from '../../protocol/messages/params.js'
import type { World } from '../../runtime/time/world.js'
import { AskError } from '../base/errors.js'
import type { QuestionAnswer, CallState } from '../holdings/request-state.js'
import type { FinishedSteps } from '../context/steps.js'
import { addAnswer } from '../runs/answers.js'

export interface OpenQuestion {
  readonly method: Question
  /** As the author asked it. */
  readonly params: object
  /** Milliseconds that the client has for it. */
  readonly timeout: number
  resolve(result: JsonObject): void
  reject(error: Error): void
}

/** Questions of one call at once. */
const maxOpen = 100
/** How often one call may ask its client. */
const maxRounds = 25

/** What one run of a handler has been answered in the rounds of its call, and what it asks next. */
export class Rounds {
  readonly call: string
  readonly #answers: Map<string, readonly QuestionAnswer[]>
  readonly #offered: Map<string, unknown>
  readonly #open = new Map<string, OpenQuestion>()
  /** How many answers of each key this run has been given. */
  readonly #taken = new Map<string, number>()
  #round: number
  /** Whether nothing was learned since the last round, which the next one repeats then. */
  #isRepeating: boolean

  /** `offered`: answers that came without a state; each counts where its key is asked first, if it fits. */
  constructor({ randomBytes }: Pick<World, 'randomBytes'>, known?: CallState, offered: JsonObject = {}) {
    this.call = known?.call ?? randomBytes(12).toString('base64url')
    this.#round = known?.round ?? 0
    this.#answers = new Map(known?.answers)
    this.#offered = new Map(Object.entries(offered))
    this.#isRepeating = known !== undefined
  }

  get round(): number {
    return this.#round
  }

  get answers(): ReadonlyMap<string, readonly QuestionAnswer[]> {
    return this.#answers
  }

  get open(): ReadonlyMap<string, OpenQuestion> {
    return this.#open
  }

  take(key: string, method: Question): JsonObject | undefined {
    const taken = this.#taken.get(key) ?? 0
    const known = this.#answers.get(key) ?? []
    const answer = known[taken] ?? this.#accept(key, method)
    if (answer === undefined) return undefined
    if (answer.method !== method) {
      // the handler has changed since: its question of now was never answered
      this.#answers.set(key, known.slice(0, taken))
      return undefined
    }
    this.#taken.set(key, taken + 1)
    return structuredClone(answer.result)
  }

  #accept(key: string, method: Question): QuestionAnswer | undefined {
    const offered = this.#offered.get(key)
    this.#offered.delete(key)
    if (!isObject(offered)) return undefined
    try {
      const answer = { method, result: readResult(method, offered) as object as JsonObject }
      addAnswer(this.#answers, key, answer)
      return answer
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      return undefined // the question is asked, and says what is wanted
    }
  }

  /** Adds a question to the next round. Throws AskError TOO_MANY_QUESTIONS. */
  add(key: string, question: OpenQuestion): void {
    if (this.#open.size >= maxOpen)
      throw new AskError('TOO_MANY_QUESTIONS', `a call may have ${maxOpen} questions open`)
    this.#open.set(key, question)
  }

  drop(key: string, error: Error): void {
    const question = this.#open.get(key)
    this.#open.delete(key)
    question?.reject(error)
  }

  learn(answers: ReadonlyMap<string, QuestionAnswer>): void {
    for (const [key, answer] of answers) {
      this.#isRepeating = false
      addAnswer(this.#answers, key, answer)
      const question = this.#open.get(key)
      if (question === undefined) continue
      this.#open.delete(key)
      const result = this.take(key, question.method)
      if (result !== undefined) question.resolve(result)
    }
  }

  /**
   * The state that comes back with the client's answers. Throws AskError TOO_MANY_QUESTIONS after 25 rounds.
   */
  next(steps: FinishedSteps): CallState {
    if (!this.#isRepeating) this.#round += 1
    this.#isRepeating = true
    if (this.#round > maxRounds)
      throw new AskError('TOO_MANY_QUESTIONS', `a call may ask its client in ${maxRounds} rounds at most`)
    const asked = new Map([...this.#open].map(([key, { method }]) => [key, method]))
    return { call: this.call, round: this.#round, asked, answers: this.#answers, steps }
  }
}
