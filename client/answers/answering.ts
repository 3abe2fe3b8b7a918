import { acceptsRequest, type Dialect } from '../../protocol/dialects/dialect.js'
import { missingForQuestion, type Question } from '../../protocol/dialects/capabilities.js'
import { errorCodes, McpError, unknownMethod } from '../../protocol/wire/errors.js'
import { fitResult } from '../../protocol/dialects/fit.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import { readResult } from '../../protocol/messages/params.js'
import { type OwnerToken, runIn } from '../../runtime/faults/containment.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import type { Clock } from '../../runtime/time/clock.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { Answers, QuestionContext } from '../options/answers.js'
import { ClientError } from '../base/errors.js'
import { completeForm } from './form-answer.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientSettings } from '../options/options.js'

interface Asked<Q extends Question = Question> {
  readonly method: Q
  readonly params: Params<Q>
}

export interface Desk {
  readonly settings: ClientSettings
  readonly holdings: Holdings
  readonly clock: Clock
  readonly dialect: Dialect
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal
  /** What the caller gave for the call that is known to be asked for. */
  readonly callSignal: AbortSignal | undefined
  /** Timeout of the handler, in ms. */
  readonly timeout: number
}

/** In the scope of the handler's giver. Rejects with its error, McpError (undeclared), TIMEOUT, CANCELLED. */
export async function answerQuestion(asked: Asked, desk: Desk): Promise<JsonObject> {
  checkDeclared(asked, desk)
  const answer = await handle(asked, desk)
  return fitResult(desk.dialect, asked.method, answer) as unknown as JsonObject
}

/** Throws McpError for a question that this client did not declare. */
export function checkDeclared(
  { method, params }: Asked,
  { settings, dialect }: Pick<Desk, 'settings' | 'dialect'>,
): void {
  const missing = missingForQuestion(dialect, method, params, settings.capabilities)
  if (missing !== undefined || !acceptsRequest(dialect, 'client', method)) throw undeclared(method, missing)
}

async function handle({ method, params }: Asked, desk: Desk): Promise<Result<Question>> {
  const { settings, holdings } = desk
  const { form, url, sample, roots } = settings.answers
  switch (method) {
    case 'elicitation/create': {
      const asked = params as Params<'elicitation/create'>
      if (asked.mode !== 'url') return completeForm(asked, checked(method, await run(desk, form, asked)))
      const { action } = checked(method, await run(desk, url, asked))
      return { action }
    }
    case 'sampling/createMessage':
      return checked(method, await run(desk, sample, params as Params<'sampling/createMessage'>))
    case 'roots/list': {
      const known = holdings.wishes.roots ?? roots
      const list =
        typeof known === 'function' ? await run(desk, async (_, ctx) => known(ctx), undefined) : known
      return checked(method, { roots: list })
    }
    default:
      return method satisfies never
  }
}

const forms: { readonly [Q in Question]: string } = {
  'elicitation/create':
    "onElicit to return { action: 'accept', content: { ... } }, or the action decline or cancel",
  'sampling/createMessage': "onSample to return { role: 'assistant', content: { ... }, model: '...' }",
  'roots/list': 'roots to be a list of { uri }',
}

/** Checked like a message: it may come from anywhere. */
function checked<Q extends Question>(method: Q, answer: unknown): Result<Q> {
  if (typeof answer !== 'object' || answer === null)
    throw new ClientError('BAD_ANSWER', `${method}: expected ${forms[method]}, got ${show(answer)}`)
  try {
    return readResult(method, answer as JsonObject)
  } catch (cause) {
    const problem = `${method}: expected ${forms[method]}: ${messageOf(cause)}`
    throw new ClientError('BAD_ANSWER', problem, { cause })
  }
}

/** Runs a handler outside of any actor, within its time, while somebody waits. */
function run<P, R>(
  { settings, holdings, clock, dialect, signal, callSignal, timeout }: Desk,
  fn: ((params: P, ctx: QuestionContext) => R | Promise<R>) | undefined,
  params: P,
): Promise<R> {
  const owner = ownerOf(settings.answers, holdings)
  if (fn === undefined) throw undeclared('the question', undefined)
  if (owner === undefined) throw new McpError(errorCodes.internalError, 'whoever would answer has ended')
  const controller = new AbortController()
  const giveUp = (error: ClientError): never => {
    controller.abort(error)
    throw error
  }
  const { name: client } = settings
  const ctx = Object.freeze({ signal: controller.signal, client, revision: dialect.revision, callSignal })
  const handler = async (): Promise<R> => {
    await undefined // never in the middle of anything
    controller.signal.throwIfAborted()
    return fn(params, ctx)
  }
  const limits = {
    clock,
    ms: timeout,
    late: () => giveUp(new ClientError('TIMEOUT', `the handler did not answer within ${timeout} ms`)),
    signal,
    aborted: () => giveUp(new ClientError('CANCELLED', 'nobody waits for the answer any more')),
  }
  return waitWithin<R>(limits, (resolve, reject) => {
    runIn(owner, handler, undefined, undefined).then(resolve, reject)
  })
}

/** Undefined: the owner has died, and the handlers with it. */
function ownerOf({ owner }: Answers, holdings: Holdings): OwnerToken | undefined {
  if (owner === undefined) return holdings.handlerOwner.token
  return owner.fenced ? undefined : owner
}

/** -32601: no capability; -32602: not of its mode or part (specification: elicitation, roots). */
function undeclared(method: string, missing: string | undefined): McpError {
  if (missing?.includes('.') === true)
    return new McpError(errorCodes.invalidParams, `${method}: this client did not declare ${missing}`)
  return unknownMethod(method)
}
