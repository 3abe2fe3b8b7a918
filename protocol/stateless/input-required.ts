import type { Question } from '../dialects/capabilities.js'
import type { Dialect } from '../dialects/dialect.js'
import { errorCodes, McpError, ProtocolError } from '../wire/errors.js'
import { fitParams } from '../dialects/fit.js'
import type { JsonObject } from '../wire/json.js'
import type { Method, Params, Result } from '../messages/methods.js'
import { badMessage, readResult } from '../messages/params.js'
import {
  type InputRequest,
  type InputRequiredResult,
  inputRequiredResult,
} from '../messages/input-required.js'
import type { InputResponses, RetryParams } from '../messages/base.js'
import type { ClientCapabilities } from '../messages/capabilities.js'

/** The answer to a request: its result, or questions to be answered first. */
export type Outcome<M extends Method> =
  | { readonly type: 'complete'; readonly result: Result<M> }
  | { readonly type: 'input_required'; readonly result: InputRequiredResult }

/** The methods that may be answered with questions (specification: 2026-07-28, MRTR). */
export const retriedMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

const nothing: ClientCapabilities = Object.freeze({})

/**
 * A question as a result holds it: without an id, and without params that the revision lacks, such as `_meta`
 * and `elicitationId`. Throws NOT_IN_REVISION for what the revision cannot ask.
 */
export function embedQuestion<Q extends Question>(
  dialect: Dialect,
  method: Q,
  params: Params<Q>,
): InputRequest {
  const fitted = fitParams(dialect, method, params)
  const isBare = method === 'roots/list' && Object.keys(fitted).length === 0
  return (isBare ? { method } : { method, params: fitted }) as InputRequest
}

/**
 * The error -32021: the request needs capabilities that the client has not declared. `missing` are paths, as
 * `missingForQuestion` returns them; `data.requiredCapabilities` has them as an object.
 */
export function missingClientCapabilities(missing: readonly string[]): McpError {
  const requiredCapabilities = missing.reduce(addCapability, nothing)
  return new McpError(
    errorCodes.missingClientCapability,
    `Missing required client capability: ${missing.join(', ')}`,
    { data: { requiredCapabilities } },
  )
}

/**
 * Reads the answer to a request of 2026-07-28; without `resultType` it is complete, as from older servers.
 * Throws BAD_RESULT for an unknown type, for questions to a method that has none, and for an empty demand.
 */
export function readOutcome<M extends Method>(method: M, result: JsonObject): Outcome<M> {
  const { resultType = 'complete' } = result
  if (resultType === 'complete') return { type: 'complete', result: readResult(method, result) }
  if (resultType !== 'input_required')
    throw badResult(method, 'resultType: expected complete or input_required, got something else')
  if (!retriedMethods.has(method))
    throw badResult(method, 'resultType: expected complete, got input_required')
  const problem = inputRequiredResult(result)
  if (problem !== undefined) throw badMessage('BAD_RESULT', method, problem)
  return { type: 'input_required', result: result as unknown as InputRequiredResult }
}

/**
 * The params of a request that is made again: with the answers and the state of the last round, without those
 * of earlier ones. The request needs an id of its own.
 */
export function retryParams<P extends object>(
  params: P,
  inputResponses: InputResponses | undefined,
  requestState: string | undefined,
): P & RetryParams {
  const { inputResponses: _answered, requestState: _state, ...rest } = params as P & RetryParams
  return {
    ...(rest as P),
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  }
}

function addCapability(capabilities: ClientCapabilities, path: string): ClientCapabilities {
  const [first = '', ...rest] = path.split('.')
  const known = (capabilities as Record<string, object>)[first] ?? {}
  return { ...capabilities, [first]: rest.length === 0 ? known : addCapability(known, rest.join('.')) }
}

function badResult(method: string, problem: string): ProtocolError {
  return new ProtocolError('BAD_RESULT', `${method}: ${problem}`, { data: { method } })
}
