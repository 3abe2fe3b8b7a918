import type { Question } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { InputRequest, InputRequests } from '../../protocol/messages/input-required.js'
import type { Params } from '../../protocol/messages/methods.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { answerQuestion, type Desk } from '../answers/answering.js'
import { maxQuestions, unanswered } from '../answers/rounds.js'
import { callError } from '../base/errors.js'

/** Questions of one task; a server that asks more is given up. */
const maxKeys = 1_000

interface QuestionsHost {
  readonly what: string
  /** For a handler that begins now. */
  desk(dialect: Dialect): Desk
  /** Hands the answers in, as often as it takes. */
  update(inputResponses: JsonObject): Promise<void>
  fail(error: unknown): void
}

/**
 * Answers the questions of a task while it runs (2026-07-28, tasks): each key once, as soon as its handler has
 * answered, whatever the others do.
 */
export class TaskQuestions {
  readonly #host: QuestionsHost
  readonly #taken = new Set<string>()
  #open = 0

  constructor(host: QuestionsHost) {
    this.#host = host
  }

  /** Questions taken before are ignored: they are being answered, or the server has not read the answer yet. */
  take(asked: InputRequests, dialect: Dialect): void {
    const { what } = this.#host
    for (const [key, question] of Object.entries(asked)) {
      if (this.#taken.has(key)) continue
      if (this.#taken.size >= maxKeys || this.#open >= maxQuestions) throw tooMany(what)
      this.#taken.add(key)
      this.#open += 1
      void this.#answer(key, question, dialect).finally(() => {
        this.#open -= 1
      })
    }
  }

  async #answer(key: string, { method, params = {} }: InputRequest, dialect: Dialect): Promise<void> {
    const host = this.#host
    const desk = host.desk(dialect)
    let answer: JsonObject
    try {
      answer = await answerQuestion({ method, params: params as Params<Question> }, desk)
    } catch (cause) {
      return host.fail(unanswered(host.what, cause))
    }
    await host.update({ [key]: answer }).catch((error: unknown) => host.fail(error))
  }
}

function tooMany(what: string) {
  const text = `${what}: the task asks more than ${maxQuestions} questions at once, or ${maxKeys} in all`
  return callError('INVALID_RESPONSE', text, { sent: true, retryable: false })
}
