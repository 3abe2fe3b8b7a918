import { randomUUID } from 'node:crypto'
import { ProtocolError } from '../../protocol/wire/errors.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import type { Schema } from '../../protocol/schema/schema.js'
import { toDefinedSchema } from '../../protocol/schema/defined.js'
import type {
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
} from '../../protocol/messages/types/elicitation.js'
import type { CreateMessageParams } from '../../protocol/messages/types/sampling.js'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { AskError, type ServerError, optionError } from '../base/errors.js'

/**
 * What a user is asked: by a form, or by a page to visit (`mode: 'url'`), whose id is made up when it is left
 * out.
 */
export type Elicitation =
  | Pick<ElicitFormParams, 'message' | 'requestedSchema'>
  | (Pick<ElicitUrlParams, 'mode' | 'message' | 'url'> & { readonly elicitationId?: string })

/** What a model is asked. */
export type Sampling = Omit<CreateMessageParams, '_meta' | 'task'>

/** How a question is asked. */
export interface AskOptions {
  /** Milliseconds to wait for the answer. Default: the server's `askTimeout`. */
  readonly timeout?: number
}

/** What a server may ask the client of a session. */
export type AskMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list' | 'ping'

/**
 * Asks the client, under the key of the author; rejects with AskError. A session needs no key, since it asks
 * and waits; a request without one (2026-07-28) finds the answer under it when it comes back.
 */
export type Ask = <M extends AskMethod>(
  key: string,
  method: M,
  params: Params<M>,
  options: AskOptions,
) => Promise<Result<M>>

type Ways = 'elicit' | 'sample' | 'roots'

/** What was asked under a key: by which way, and its text where it has one. */
interface Asked {
  readonly way: Ways
  readonly text: string | undefined
}

/**
 * The questions of one request: one that was answered is not asked again under the same key, and no other one
 * is asked under it.
 */
export class Questions {
  readonly #ask: Ask
  readonly #asked = new Map<string, Asked>()
  readonly #answers = new Map<string, Promise<unknown>>()

  constructor(ask: Ask) {
    this.#ask = ask
  }

  elicit(key: string, question: Elicitation, options: AskOptions): Promise<ElicitResult> {
    return this.#once(key, 'elicit', question, async () => {
      const params = toElicitation(question)
      const form = formOf(params)
      return checkAnswer(form, await this.#ask(key, 'elicitation/create', params, options))
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

  async #once<Answer>(key: string, way: Ways, question: object, ask: () => Promise<Answer>): Promise<Answer> {
    if (typeof key !== 'string' || key === '') throw badKey(way, key)
    if (!isObject(question)) throw badOption('question', `${way}: question: expected an object`, question)
    const text = textOf(question)
    const [before, known] = [this.#asked.get(key), this.#answers.get(key)]
    if (before !== undefined && (before.way !== way || (known !== undefined && before.text !== text)))
      throw taken(key, way, before.way)
    if (known !== undefined) return known as Promise<Answer>
    const asking = ask()
    this.#asked.set(key, { way, text })
    this.#answers.set(key, asking)
    asking.catch(() => this.#answers.delete(key)) // a question without an answer may be asked again
    return asking
  }
}

function badKey(way: Ways, key: unknown): ServerError {
  const call = way === 'roots' ? "roots('where')" : `${way}('what', { ... })`
  return badOption('key', `${way}: key: expected a non-empty string first, as in ctx.${call}`, key)
}

/** An answer to another question would be taken for its own. */
function taken(key: string, way: Ways, before: Ways): ServerError {
  const what = way === before ? 'another question' : `${before}()`
  const problem = `${way}: key: ${show(key)} belongs to ${what} of this call: give each question a key of its own`
  return optionError('key', problem)
}

/** Undefined for what has no text, and is refused later. */
function textOf(question: object): string | undefined {
  try {
    return JSON.stringify(question)
  } catch {
    return undefined
  }
}

const elicitationFields = ['message', 'requestedSchema', 'mode', 'url', 'elicitationId']
const elicitationAliases = {
  form: 'requestedSchema',
  schema: 'requestedSchema',
  fields: 'requestedSchema',
  requestSchema: 'requestedSchema',
}

function toElicitation(question: Elicitation): Params<'elicitation/create'> {
  for (const field of Object.keys(question))
    if (!elicitationFields.includes(field))
      throw badOption(
        field,
        `elicit: ${field}: expected ${among('a field', elicitationFields, field, elicitationAliases)}`,
        field,
      )
  if (!('mode' in question)) return { ...question }
  return { ...question, elicitationId: question.elicitationId ?? randomUUID() }
}

/** What a form has to be filled in with; undefined for a page. Throws BAD_OPTION for what is no form. */
function formOf(params: Params<'elicitation/create'>): Schema | undefined {
  if (params.mode === 'url') return undefined
  try {
    return toDefinedSchema({ ...params.requestedSchema })
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw optionError('requestedSchema', `elicitation/create: requestedSchema: ${cause.message}`, cause)
  }
}

/** What was filled in has to fit what was asked for: a client is not to be trusted with that. */
async function checkAnswer(form: Schema | undefined, result: ElicitResult): Promise<ElicitResult> {
  if (form === undefined || result.action !== 'accept') return result
  const parsed = await form.parse(result.content ?? {})
  if (!('issues' in parsed)) return result
  const issues = parsed.issues.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw new AskError('BAD_ANSWER', `elicitation/create: the client's answer does not fit the form: ${issues}`)
}

function badOption(field: string, problem: string, got: unknown): ServerError {
  return optionError(field, `${problem}, got ${show(got)}`)
}
