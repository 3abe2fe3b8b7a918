import { CaduceusError, messageOf } from '../runtime/errors.js'

/** Every code a ClientError can have. */
export type ClientErrorCode =
  | 'BAD_OPTION'
  | 'NOT_READY'
  | 'NOT_FOUND'
  | 'CONNECT_FAILED'
  | 'CONNECTION_LOST'
  | 'SESSION_NOT_FOUND'
  | 'REQUEST_FAILED'
  | 'TIMEOUT'
  | 'CANCELLED'
  | 'QUEUE_FULL'
  | 'GAVE_UP'
  | 'CLOSED'
  | 'INVALID_RESPONSE'
  | 'NO_COMMON_REVISION'
  | 'TOO_MANY_PAGES'

/**
 * The error class of `caduceus/client`. The error of a call has `data.sent`: whether the request left this process, so that the
 * server may have acted on it. What the far side answers is an McpError instead.
 */
export class ClientError extends CaduceusError<ClientErrorCode> {}

/** The facts that the error of every call has. */
export interface CallErrorData {
  readonly sent: boolean
  readonly [fact: string]: unknown
}

/** How the error of a call is made. */
export interface CallErrorDetails {
  readonly sent: boolean
  readonly retryable?: boolean
  readonly cause?: unknown
}

/** The error of one call; facts of the cause (exit code, status, last lines of standard error) are its own, too. */
export function callError(code: ClientErrorCode, message: string, details: CallErrorDetails): ClientError {
  const { sent, retryable = true, cause } = details
  const facts = cause instanceof CaduceusError && isFacts(cause.data) ? cause.data : {}
  const data: CallErrorData = { ...facts, sent }
  return new ClientError(code, message, { data, retryable, ...(cause === undefined ? {} : { cause }) })
}

/** The error of a call whose time was over before it could be sent, with what stood in the way. */
export function unsentError(
  { method, timeout }: { readonly method: string; readonly timeout: number },
  reason: Error | undefined,
): ClientError {
  const why = reason === undefined ? '' : ` (${messageOf(reason)})`
  return callError('TIMEOUT', `${method}: not sent within ${timeout} ms${why}`, {
    sent: false,
    cause: reason,
  })
}

/** The error of a call, or of `ready()`, on a client for which trying again is of no use. */
export function failedError(method: string, reason: Error | undefined): ClientError {
  const code = reason instanceof ClientError ? reason.code : 'CONNECT_FAILED'
  return callError(code, `${method}: ${messageOf(reason)}`, { sent: false, retryable: false, cause: reason })
}

function isFacts(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}
