import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { messageOf } from '../../runtime/base/errors.js'
import { callError, ClientError } from '../base/errors.js'

/** -32602: no such task (specification: tasks). -32601: the server that came back has no tasks. */
export function isUnknown(error: unknown): error is McpError {
  if (!(error instanceof McpError)) return false
  return error.code === errorCodes.invalidParams || error.code === errorCodes.methodNotFound
}

/** `retryable`: of a call, which may be made again; who asks for an id again gets the same answer. */
export function lostTask(what: string, cause: McpError, retryable: boolean): ClientError {
  const text = `${what}: the server knows no such task: it has expired, or the server came back without it (${messageOf(cause)})`
  return callError('TASK_LOST', text, { sent: true, retryable, cause })
}

export function cancelledTask(what: string, statusMessage: string | undefined): ClientError {
  const why = statusMessage === undefined ? '' : ` (${statusMessage})`
  const text = `${what}: the task was cancelled, and not by this call${why}`
  return callError('TASK_CANCELLED', text, { sent: true, retryable: false })
}

/** With `data.taskId`, by which another call can go on with it. */
export function withTask(error: unknown, taskId: string, isCall: boolean): unknown {
  if (!(error instanceof ClientError)) return error
  const { code, message, retryable, cause } = error
  const data = { ...(error.data as object), ...(isCall && { sent: true }), taskId }
  return new ClientError(code, message, { data, retryable, ...(cause !== undefined && { cause }) })
}
