import { ProtocolError } from '../../protocol/wire/errors.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import type { Schema } from '../../protocol/schema/schema.js'
import { toDefinedSchema } from '../../protocol/schema/defined.js'
import type { ElicitFormParams, ElicitResult, ElicitUrlParams } from '../../protocol/messages/elicitation.js'
import { type Form, readForm } from './form.js'
import type { CreateMessageParams } from '../../protocol/messages/sampling.js'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { AskError, type ServerError, optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'

/**
 * What a user is asked, by a form or by a page to visit (`mode: 'url'`). Default id of a page: a random one.
 */
export type Elicitation =
  | Pick<ElicitFormParams, 'message' | 'requestedSchema'>
  | (Pick<ElicitUrlParams, 'mode' | 'message' | 'url'> & { readonly elicitationId?: string })

/** A form with types: see `ToolContext.elicit`. */
export interface FormQuestion<F extends Form = Form> {
  /** What the user reads above the form. */
  readonly message: string
  readonly form: F
}

/** What a model is asked. */
export type Sampling = Omit<CreateMessageParams, '_meta' | 'task'>

/** How a question is asked. */
export interface AskOptions {
  /** Milliseconds to wait for the answer. Default: the server's `timeouts.question`. */
  readonly timeout?: number
}

/** The requests that a server may send to a client. */
export type AskMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list' | 'ping'

/** Asks the client; rejects with AskError. A retry of 2026-07-28 finds the answer under its key. */
export type Ask = <M extends AskMethod>(
  key: string,
  method: M,
  params: Params<M>,
  options: AskOptions,
) => Promise<Result<M>>

type Way = 'elicit' | 'sample' | 'roots'

/** A loop that asks again under one key would get the old answer for ever, and let nobody else run. */
const mostRepeats = 100

interface AskedQuestion {
  readonly way: Way
  /** The JSON of the question; undefined for one without, which is refused later. */
  readonly text: string | undefined
}

/**
 * The questions of one request: a key stands for one question, which is not asked again once it is answered.
 */
export class Questions {
  readonly #ask: Ask
  readonly #newId: () => string
  readonly #turn: () => Promise<void>
  readonly #asked = new Map<string, AskedQuestion>()
  readonly #answers = new Map<string, Promise<unknown>>()
  /** How often an answer was given again, by its key. */
  readonly #repeats = new Map<string, number>()

  /** `newId`: the id of a page that has none. `turn`: resolves in a later turn of the event loop. */
  constructor(ask: Ask, newId: () => string, turn: () => Promise<void>) {
    this.#ask = ask
    this.#newId = newId
    this.#turn = turn
  }

  elicit(key: string, question: Elicitation | FormQuestion, options: AskOptions): Promise<ElicitResult> {
    if (isForm(question)) return this.#fillIn(key, question, options)
    return this.#once(key, 'elicit', question, async () => {
      const params = toElicitation(question, this.#newId)
      const form = formOf(params)
      return checkAnswer(form, await this.#ask(key, 'elicitation/create', params, options))
    })
  }

  /** The content is what the form makes of it. */
  async #fillIn(key: string, question: FormQuestion, options: AskOptions): Promise<ElicitResult> {
    const { form, ...rest } = question
    if ('requestedSchema' in rest || 'mode' in rest)
      throw readersOf('elicit').badOption('form', 'nothing beside requestedSchema or mode', form)
    const { schema, requestedSchema } = readForm(form)
    const asked = { ...rest, requestedSchema }
    return await this.#once(key, 'elicit', asked, async () => {
      const params = toElicitation(asked, this.#newId)
      return checkAnswer(schema, await this.#ask(key, 'elicitation/create', params, options), true)
    })
  }

  sample(key: string, question: Sampling, options: AskOptions): Promise<Result<'sampling/createMessage'>> {
    return this.#once(key, 'sample', question, () =>
      this.#ask(key, 'sampling/createMessage', { ...question }, options),
    )
  }

  roots(key: string, options: AskOptions): Promise<Result<'roots/list'>> {
    return this.#once(key, 'roots', {}, () => this.#ask(key, 'roots/list', {}, options))
  }

  async #once<Answer>(key: string, way: Way, question: object, ask: () => Promise<Answer>): Promise<Answer> {
    if (typeof key !== 'string' || key === '') {
      throw readersOf(way).badOption('key', `a non-empty string first, as in ${examples[way]}`, key)
    }
    if (!isObject(question))
      throw readersOf(way).badOption('question', `an object behind the key, as in ${examples[way]}`, question)
    const text = textOf(question)
    const [before, known] = [this.#asked.get(key), this.#answers.get(key)]
    if (before !== undefined && (before.way !== way || (known !== undefined && before.text !== text)))
      throw taken(key, way, before.way)
    if (known !== undefined) {
      if (this.#isOften(key)) {
        if (way !== 'roots') throw askedTooOften(key, way)
        await this.#turn() // one who looks before each of many files goes on, and lets others run
      }
      return (await known) as Answer
    }
    const asking = ask()
    this.#asked.set(key, { way, text })
    this.#answers.set(key, asking)
    asking.catch(() => this.#answers.delete(key)) // a question without an answer may be asked again
    return asking
  }

  #isOften(key: string): boolean {
    const repeats = (this.#repeats.get(key) ?? 0) + 1
    this.#repeats.set(key, repeats)
    return repeats > mostRepeats
  }
}

function askedTooOften(key: string, way: Way): ServerError {
  const other = show(`${key}-2`)
  const problem = `${way}: key: ${show(key)} was asked ${mostRepeats} times more in this call, and has one answer: to ask again, take another key: ${other}`
  return optionError('key', problem)
}

function isForm(question: Elicitation | FormQuestion): question is FormQuestion {
  return isObject(question) && 'form' in question
}

function taken(key: string, way: Way, before: Way): ServerError {
  const what = way === before ? 'another question' : `${before}()`
  const problem = `${way}: key: ${show(key)} belongs to ${what} of this call: give each question a key of its own`
  return optionError('key', problem)
}

function textOf(question: object): string | undefined {
  try {
    return JSON.stringify(question)
  } catch {
    return undefined
  }
}

const examples = {
  elicit: "ctx.elicit('name', { message, form })",
  sample: "ctx.sample('summary', { messages, maxTokens })",
  roots: "ctx.roots('where')",
}
const elicitationFields = ['message', 'form', 'requestedSchema', 'mode', 'url', 'elicitationId']
const elicitationAliases = {
  schema: 'form',
  fields: 'form',
  requestSchema: 'requestedSchema',
}

function toElicitation(question: Elicitation, newId: () => string): Params<'elicitation/create'> {
  const unknown = Object.keys(question).find((field) => !elicitationFields.includes(field))
  // a schema, or fields alone
  if (unknown !== undefined && !('message' in question))
    throw readersOf('elicit').badOption('question', '{ message, form } as the second argument', question)
  if (unknown !== undefined) {
    const expected = among('a field', elicitationFields, unknown, elicitationAliases)
    throw readersOf('elicit').badOption(unknown, expected, unknown)
  }
  if (!('mode' in question)) return { ...question }
  return { ...question, elicitationId: question.elicitationId ?? newId() }
}

/** The schema of a form; undefined for a page. Throws BAD_OPTION for a malformed form. */
function formOf(params: Params<'elicitation/create'>): Schema | undefined {
  if (params.mode === 'url') return undefined
  try {
    return toDefinedSchema({ ...params.requestedSchema })
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw optionError('requestedSchema', `elicitation/create: requestedSchema: ${cause.message}`, cause)
  }
}

/** The client may not have checked what was filled in: it has to fit the form. */
async function checkAnswer(
  form: Schema | undefined,
  result: ElicitResult,
  isRead = false,
): Promise<ElicitResult> {
  if (form === undefined || result.action !== 'accept') return result
  const parsed = await form.parse(result.content ?? {})
  if (!('issues' in parsed))
    return isRead ? { ...result, content: parsed.value as NonNullable<ElicitResult['content']> } : result
  const issues = parsed.issues.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw new AskError('BAD_ANSWER', `elicitation/create: the client's answer does not fit the form: ${issues}`)
}
