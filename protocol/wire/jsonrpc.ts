import { errorCodes, type JsonRpcError, ProtocolError, toJsonRpcError } from './errors.js'
import { isObject, type JsonObject, kindOf } from './json.js'

/** Ties an answer to its request: a string or an integer, never null; `1` and `"1"` are two ids. */
export type RequestId = string | number

/** A request: a call that wants an answer. */
export interface JsonRpcRequest {
  readonly jsonrpc: '2.0'
  readonly id: RequestId
  readonly method: string
  readonly params?: JsonObject
}

/** A message that is never answered. */
export interface JsonRpcNotification {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: JsonObject
}

/** The good answer to a request. */
export interface JsonRpcResult {
  readonly jsonrpc: '2.0'
  readonly id: RequestId
  readonly result: JsonObject
}

/** The bad answer to a request; without an id it answers a message whose id could not be read. */
export interface JsonRpcErrorResponse {
  readonly jsonrpc: '2.0'
  readonly id?: RequestId
  readonly error: JsonRpcError
}

/** One JSON-RPC message, told apart by its keys: `method` with or without `id`, `result`, `error`. */
export type Message = JsonRpcRequest | JsonRpcNotification | JsonRpcResult | JsonRpcErrorResponse

/** The `data` of INVALID_MESSAGE and TOO_DEEP: what the message was, and its id if readable. */
export interface InvalidMessage {
  readonly about: 'request' | 'notification' | 'response' | 'unknown'
  readonly id?: RequestId
}

/**
 * Checks that a JSON value is one JSON-RPC message of MCP, and returns it. Throws INVALID_MESSAGE with an
 * `InvalidMessage` as data. An error response with `id: null` is read as one without id.
 */
export function readMessage(value: unknown): Message {
  if (!isObject(value)) throw invalid(value, `a message must be an object, got ${kindOf(value)}`)
  if (value.jsonrpc !== '2.0') throw invalid(value, 'jsonrpc: expected "2.0"')
  return Object.hasOwn(value, 'method') ? readCall(value) : readAnswer(value)
}

function readCall(value: JsonObject): Message {
  const { method, id, params } = value
  if (typeof method !== 'string') throw invalid(value, `method: expected a string, got ${kindOf(method)}`)
  if (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error')) {
    throw invalid(value, 'a message with a method must have neither result nor error')
  }
  if (Object.hasOwn(value, 'id') && !isRequestId(id)) throw invalid(value, expectedId(id))
  if (Object.hasOwn(value, 'params') && !isObject(params)) {
    throw invalid(value, `params: expected an object, got ${kindOf(params)}`)
  }
  return value as unknown as JsonRpcRequest | JsonRpcNotification
}

function readAnswer(value: JsonObject): Message {
  const { id, result, error } = value
  const good = Object.hasOwn(value, 'result')
  if (good === Object.hasOwn(value, 'error')) {
    throw invalid(
      value,
      good ? 'expected result or error, got both' : 'expected method, result or error, got none',
    )
  }
  if (good) {
    if (!isRequestId(id)) throw invalid(value, expectedId(id))
    if (!isObject(result)) throw invalid(value, `result: expected an object, got ${kindOf(result)}`)
    return value as unknown as JsonRpcResult
  }
  if (!isObject(error)) throw invalid(value, `error: expected an object, got ${kindOf(error)}`)
  if (!Number.isInteger(error.code)) {
    throw invalid(value, `error.code: expected an integer, got ${kindOf(error.code)}`)
  }
  if (typeof error.message !== 'string') {
    throw invalid(value, `error.message: expected a string, got ${kindOf(error.message)}`)
  }
  if (id === null) return buildError(undefined, error as unknown as JsonRpcError)
  if (Object.hasOwn(value, 'id') && !isRequestId(id)) throw invalid(value, expectedId(id))
  return value as unknown as JsonRpcErrorResponse
}

/** Characters of an id: it is written into every answer. */
const longestId = 1_024

/** Whether `value` can be an id: an integer within 2^53 (others would change), or up to 1,024 characters. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= longestId : Number.isSafeInteger(value)
}

function expectedId(id: unknown): string {
  return `id: expected a string or an integer within 2^53, got ${typeof id === 'string' ? `${id.length} characters` : kindOf(id)}`
}

function invalid(value: unknown, problem: string): ProtocolError {
  return new ProtocolError('INVALID_MESSAGE', `not a JSON-RPC message: ${problem}`, {
    data: describeInvalid(value),
  })
}

/** Describes a value that is refused as a message. */
export function describeInvalid(value: unknown): InvalidMessage {
  if (!isObject(value)) return { about: 'unknown' }
  const about = aboutOf(value)
  return isRequestId(value.id) ? { about, id: value.id } : { about }
}

function aboutOf(value: JsonObject): InvalidMessage['about'] {
  if (Object.hasOwn(value, 'method'))
    return Object.hasOwn(value, 'id') || typeof value.method !== 'string' ? 'request' : 'notification'
  return Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error') ? 'response' : 'unknown'
}

/**
 * The error response to a message that could not be read; undefined: none may be sent, as for broken answers
 * and notifications. Only requests are answered with their id, which might end a request of the far side.
 */
export function answerInvalid(error: ProtocolError): JsonRpcErrorResponse | undefined {
  const answer = toJsonRpcError(error)
  if (answer.code === errorCodes.internalError) return undefined
  const { about, id } = (error.data ?? { about: 'unknown' }) as InvalidMessage
  if (about === 'response' || about === 'notification') return undefined
  return buildError(about === 'request' ? id : undefined, answer)
}

/** Whether the message is a request: it has a method and wants an answer. */
export function isRequest(message: Message): message is JsonRpcRequest {
  return Object.hasOwn(message, 'method') && Object.hasOwn(message, 'id')
}

/** Whether the message is a notification: it has a method and is never answered. */
export function isNotification(message: Message): message is JsonRpcNotification {
  return Object.hasOwn(message, 'method') && !Object.hasOwn(message, 'id')
}

/** Whether the message answers a request, well or badly. */
export function isResponse(message: Message): message is JsonRpcResult | JsonRpcErrorResponse {
  return !Object.hasOwn(message, 'method')
}

/**
 * An error response in place of an answer that could not be read; undefined: nothing says for which request.
 */
export function standIn(error: ProtocolError): JsonRpcErrorResponse | undefined {
  const { about, id } = (error.data ?? { about: 'unknown' }) as InvalidMessage
  return about === 'response' && id !== undefined ? buildError(id, toJsonRpcError(error)) : undefined
}

/** A request; leaves `params` out when there are none. */
export function buildRequest(id: RequestId, method: string, params?: object): JsonRpcRequest {
  return params === undefined
    ? { jsonrpc: '2.0', id, method }
    : { jsonrpc: '2.0', id, method, params: params as JsonObject }
}

/** A notification; leaves `params` out when there are none. */
export function buildNotification(method: string, params?: object): JsonRpcNotification {
  return params === undefined
    ? { jsonrpc: '2.0', method }
    : { jsonrpc: '2.0', method, params: params as JsonObject }
}

/** The good answer to the request `id`. */
export function buildResult(id: RequestId, result: object): JsonRpcResult {
  return { jsonrpc: '2.0', id, result: result as JsonObject }
}

/** The bad answer to the request `id`, or to a message whose id could not be read (`undefined`). */
export function buildError(id: RequestId | undefined, error: JsonRpcError): JsonRpcErrorResponse {
  return id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error }
}
