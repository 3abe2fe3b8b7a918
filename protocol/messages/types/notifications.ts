import type { RequestId } from '../../wire/jsonrpc.js'
import type { BaseNotificationParams, ProgressToken } from './base.js'

/** Params of `notifications/cancelled`: the sender no longer wants an answer to one of its own requests. */
export interface CancelledParams extends BaseNotificationParams {
  requestId?: RequestId
  reason?: string
}

/** Params of `notifications/progress`: `progress` only grows; `total` may be unknown. */
export interface ProgressParams extends BaseNotificationParams {
  progressToken: ProgressToken
  progress: number
  total?: number
  message?: string
}

/** How severe a log message is, in the order of RFC 5424. */
export type LoggingLevel =
  | 'debug'
  | 'info'
  | 'notice'
  | 'warning'
  | 'error'
  | 'critical'
  | 'alert'
  | 'emergency'

/** Params of `notifications/message`: a log message of the server; `data` is any JSON value. */
export interface LoggingMessageParams extends BaseNotificationParams {
  level: LoggingLevel
  logger?: string
  data: unknown
}
