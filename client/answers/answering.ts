import { acceptsRequest, type Dialect } from '../../protocol/dialects/dialect.js'
import { missingForQuestion, type Question } from '../../protocol/dialects/capabilities.js'
import { errorCodes, McpError, unknownMethod } from '../../protocol/wire/errors.js'
import { fitResult } from '../../protocol/dialects/fit.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import { readResult } from '../../protocol/messages/params.js'
import { type OwnerToken, runIn } from '../../runtime/faults/containment.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { Answers, QuestionContext } from '../options/answers.js'
import { ClientError } from '../base/errors.js'
import { completeForm } from './form-answer.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientSettings } from '../options/options.js'

/** A question of a server, its params checked. */
export interface Asked<Q extends Question = Question> {
  readonly method: Q
  readonly params: Params<Q>
}

/** Who answers, and until when. */
export interface Desk {
  readonly settings: ClientSettings
  readonly holdings: Holdings
  readonly clock: Clock
  readonly dialect: Dialect
  /** Nobody waits any more. */
  readonly signal: AbortSignal
  /** Milliseconds that the handler may take. */
  readonly timeout: number
}

/**
 * Answers a question with the handler for it, which runs in the scope of whoever gave it, and never in that
 * of an actor. Rejects with McpError for what was not declared and what the handler refuses; with TIMEOUT,
 * with CANCELLED, and with whatever else the handler throws.
 */
export async function answerQuestion(asked: Asked, desk: Desk): Promise<JsonObject> {
  const { settings, dialect } = desk
  const { method, params } = asked
  const missing = missingForQuestion(dialect, method, params, settings.capabilities)
  if (missing !== undefined || !acceptsRequest(dialect, 'client', method)) throw undeclared(method, missing)
  const answer = await handle(asked, desk)
  return fitResult(dialect, method, answer) as unknown as JsonObject
}

async function handle({ method, params }: Asked, desk: Desk): Promise<Result<Question>> {
  const { settings, holdings } = desk
  const { form, url, sample, roots } = settings.answers
  switch (method) {
    case 'elicitation/create': {
      const asked = params as Params<'elicitation/create'>
      if (asked.mode === 'url') {
        const { action } = checked(method, await run(desk, url, asked))
        return { action }
      }
      const answer = checked(method, await run(desk, form, asked))
      return completeForm(asked, answer)
    }
    case 'sampling/createMessage': {
      const answer = await run(desk, sample, params as Params<'sampling/createMessage'>)
      return checked(method, answer)
    }
    case 'roots/list': {
      const known = holdings.wishes.roots ?? roots
      const list = typeof known === 'function' ? await run(desk, async () => known(), undefined) : known
      return checked(method, { roots: list })
    }
    default:
      return method satisfies never
  }
}

/** What a handler answers is read like what a server says: it may come from anywhere. */
function checked<Q extends Question>(method: Q, answer: unknown): Result<Q> {
  if (typeof answer !== 'object' || answer === null)
    throw new ClientError('BAD_ANSWER', `${method}: expected the handler to answer an object`)
  return readResult(method, answer as JsonObject)
}

/** Runs a handler until it is done, nobody waits any more, or its time is up. */
function run<P, R>(
  { settings, holdings, clock, dialect, signal, timeout }: Desk,
  fn: ((params: P, ctx: QuestionContext) => R | Promise<R>) | undefined,
  params: P,
): Promise<R> {
  const owner = ownerOf(settings.answers, holdings)
  if (fn === undefined) throw undeclared('the question', undefined)
  if (owner === undefined) throw new McpError(errorCodes.internalError, 'whoever would answer has ended')
  return new Promise((resolve, reject) => {
    const controller = new AbortController()
    const give = (error: ClientError): void => {
      reject(error)
      controller.abort(error)
    }
    const onAbort = (): void => give(new ClientError('CANCELLED', 'nobody waits for the answer any more'))
    const late = new ClientError('TIMEOUT', `the handler did not answer within ${timeout} ms`)
    const timer = Number.isFinite(timeout) ? clock.setTimeout(() => give(late), timeout) : undefined
    const end = (): void => {
      if (timer !== undefined) clock.clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    const ctx = Object.freeze({
      signal: controller.signal,
      client: settings.name,
      revision: dialect.revision,
    })
    const handler = async (): Promise<R> => {
      await undefined // never in the middle of anything
      controller.signal.throwIfAborted()
      return fn(params, ctx)
    }
    controller.signal.addEventListener('abort', end, { once: true })
    runIn(owner, handler, undefined, undefined).then(
      (value) => {
        end()
        resolve(value)
      },
      (error) => {
        end()
        reject(error)
      },
    )
  })
}

/** Undefined when whoever gave the handlers has died: so have they. */
function ownerOf({ owner }: Answers, holdings: Holdings): OwnerToken | undefined {
  if (owner === undefined) return holdings.handlerOwner.token
  return owner.fenced ? undefined : owner
}

/**
 * A mode or a part that was not declared is a wrong parameter, a question that was not is no method at all
 * (specification: elicitation, roots).
 */
function undeclared(method: string, missing: string | undefined): McpError {
  if (missing?.includes('.') === true)
    return new McpError(errorCodes.invalidParams, `${method}: this client did not declare ${missing}`)
  return unknownMethod(method)
}
