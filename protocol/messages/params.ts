import { errorCodes, McpError, ProtocolError } from '../wire/errors.js'
import type { JsonObject } from '../wire/json.js'
import {
  type Method,
  type MethodRow,
  methods,
  type NotificationMethod,
  type NotificationParams,
  notifications,
  type Params,
  type Result,
} from './methods.js'
import type { Problem } from './shape.js'
import { sentResults } from './sent.js'

/** Checks the params of an incoming request; absent ones are `{}`. Throws McpError -32602 with the field. */
export function readParams<M extends Method>(method: M, params: JsonObject | undefined): Params<M> {
  const value = params ?? {}
  const problem = methods[method].params(value)
  if (problem === undefined) return value as Params<M>
  throw new McpError(errorCodes.invalidParams, sentence(method, 'params', problem))
}

/** Checks the result of an own request. Throws BAD_RESULT with the field. */
export function readResult<M extends Method>(method: M, result: JsonObject): Result<M> {
  const row: MethodRow = methods[method]
  const value = row.completed === undefined ? result : row.completed(result)
  const problem = row.result(value)
  if (problem === undefined) return value as Result<M>
  throw badMessage('BAD_RESULT', method, problem)
}

/**
 * Checks a result that goes out by what the strictest receiver takes: known kinds of content, bytes in
 * base64, hints within their bounds. Throws BAD_RESULT with the field.
 */
export function checkSentResult<M extends Method>(method: M, result: JsonObject): Result<M> {
  const whole = readResult(method, result)
  const problem = sentResults[method]?.(whole)
  if (problem === undefined) return whole
  throw badMessage('BAD_RESULT', method, problem)
}

/** Checks the params of an incoming notification. Throws BAD_PARAMS, to be reported, not answered. */
export function readNotificationParams<N extends NotificationMethod>(
  method: N,
  params: JsonObject | undefined,
): NotificationParams<N> {
  const value = params ?? {}
  const problem = notifications[method].params(value)
  if (problem === undefined) return value as NotificationParams<N>
  throw badMessage('BAD_PARAMS', method, problem)
}

/** The error of params or of a result that are not what the specification says. */
export function badMessage(
  code: 'BAD_PARAMS' | 'BAD_RESULT',
  method: string,
  problem: Problem,
): ProtocolError {
  const part = code === 'BAD_PARAMS' ? 'params' : 'result'
  return new ProtocolError(code, sentence(method, part, problem), { data: { method } })
}

function sentence(method: string, part: 'params' | 'result', { path, expected, got }: Problem): string {
  return `${method}: ${part}${path}: expected ${expected}, got ${got}`
}
