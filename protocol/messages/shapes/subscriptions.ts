import { flag, listOf, optional, type Shape, shape, text } from '../shape.js'
import type {
  AcknowledgedParams,
  ListenParams,
  ListenResult,
  SubscriptionFilter,
} from '../types/subscriptions.js'
import { otherFields, requestFields } from './base.js'

const filter = shape<SubscriptionFilter>({
  toolsListChanged: optional(flag),
  promptsListChanged: optional(flag),
  resourcesListChanged: optional(flag),
  resourceSubscriptions: optional(listOf(text)),
})

/** Params of `subscriptions/listen`. */
export const listenParams: Shape<ListenParams> = shape<ListenParams>({
  notifications: filter,
  ...requestFields,
})

/** Result of `subscriptions/listen`. */
export const listenResult: Shape<ListenResult> = shape<ListenResult>(otherFields)

/** Params of `notifications/subscriptions/acknowledged`. */
export const acknowledgedParams: Shape<AcknowledgedParams> = shape<AcknowledgedParams>({
  notifications: filter,
  ...otherFields,
})
