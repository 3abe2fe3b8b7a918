import { type JsonRpcError, McpError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import { modernDialects } from '../../protocol/dialects/versions.js'
import type { TransportError, TransportErrorCode } from '../../transports/base/errors.js'
import { callError, type ClientError, type ClientErrorCode } from '../base/errors.js'
import { isSent, type Job } from './job.js'

/** With its `retryable` and its crash, where `data` has them. */
export function serverError({ code, message, data }: JsonRpcError): McpError {
  const { error, retryable } = isObject(data) ? data : {}
  const cause = toldCause(error)
  return new McpError(code, message, {
    data,
    retryable: retryable === true,
    ...(cause !== undefined && { cause }),
  })
}

const deepest = 5

/** A crash that a server shows (`exposeErrors`) as an Error with stack and cause; undefined for anything else. */
export function toldCause(told: unknown, depth = 1): Error | undefined {
  if (depth > deepest || !isObject(told)) return undefined
  const { name, message, stack, cause } = told
  if (typeof message !== 'string' || typeof stack !== 'string') return undefined
  const inner = toldCause(cause, depth + 1)
  const error = new Error(message, inner === undefined ? undefined : { cause: inner })
  Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true })
  if (typeof name === 'string' && name !== error.name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return error
}

/** Whether a refusal names a revision of 2026-07-28 or later that we speak. */
export function modernRevisionIn({ data }: JsonRpcError): boolean {
  const supported = isObject(data) ? data.supported : undefined
  return Array.isArray(supported) && modernDialects.some(({ revision }) => supported.includes(revision))
}

/** No answer will come; the connection goes on. */
export function lossError(job: Job, error: TransportError): ClientError {
  const { code, message, retryable } = error
  const details = { sent: isSent(job), retryable, cause: error }
  return callError(lossCodes[code] ?? 'REQUEST_FAILED', `${job.method}: ${message}`, details)
}

const lossCodes: Partial<Record<TransportErrorCode, ClientErrorCode>> = {
  CONNECTION_LOST: 'CONNECTION_LOST',
  PROCESS_EXITED: 'CONNECTION_LOST',
  SESSION_NOT_FOUND: 'SESSION_NOT_FOUND',
}

/** Whether its server has ended. */
export function isGone({ data }: TransportError): boolean {
  return isObject(data) && data.gone === true
}

/** Whether it may have reached the server: the transport says so, or the code does. */
export function hasLeft({ code, data }: TransportError): boolean {
  if (isObject(data) && typeof data.sent === 'boolean') return data.sent
  return code !== 'CONNECT_FAILED' && code !== 'NOT_OPEN' && code !== 'SEND_FAILED'
}
