import { finite, oneOf, optional, present, requestId, type Shape, shape, text } from '../shape.js'
import type { SetLevelParams } from '../types/logging.js'
import type { CancelledParams, LoggingMessageParams, ProgressParams } from '../types/notifications.js'
import { otherFields, requestFields } from './base.js'

const level = oneOf('debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency')

/** Params of `notifications/cancelled`. */
export const cancelledParams: Shape<CancelledParams> = shape<CancelledParams>({
  requestId: optional(requestId),
  reason: optional(text),
  ...otherFields,
})

/** Params of `notifications/progress`. */
export const progressParams: Shape<ProgressParams> = shape<ProgressParams>({
  progressToken: requestId,
  progress: finite,
  total: optional(finite),
  message: optional(text),
  ...otherFields,
})

/** Params of `notifications/message`. */
export const loggingMessageParams: Shape<LoggingMessageParams> = shape<LoggingMessageParams>({
  level,
  logger: optional(text),
  data: present,
  ...otherFields,
})

/** Params of `logging/setLevel`. */
export const setLevelParams: Shape<SetLevelParams> = shape<SetLevelParams>({ level, ...requestFields })
