import type { RequestId } from '../wire/jsonrpc.js'
import { type BaseNotificationParams, metaField, type ProgressToken } from './base.js'
import { finite, optional, requestId, shape, text } from './shape.js'

/** Params of `notifications/cancelled`: the sender no longer wants an answer to one of its own requests. */
export interface CancelledParams extends BaseNotificationParams {
  requestId?: RequestId
  reason?: string
}

export const cancelledParams = shape<CancelledParams>({
  requestId: optional(requestId),
  reason: optional(text),
  ...metaField,
})

/** Params of `notifications/progress`: `progress` only grows; `total` may be unknown. */
export interface ProgressParams extends BaseNotificationParams {
  progressToken: ProgressToken
  progress: number
  total?: number
  message?: string
}

export const progressParams = shape<ProgressParams>({
  progressToken: requestId,
  progress: finite,
  total: optional(finite),
  message: optional(text),
  ...metaField,
})
