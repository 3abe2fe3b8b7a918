import {
  type BaseNotificationParams,
  type BaseResult,
  metaField,
  type RequestParams,
  requestFields,
  resultFields,
} from './base.js'
import { flag, listOf, optional, shape, text } from './shape.js'

/** The kinds of changes that a client subscribes to; absent means no. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  /** The uris whose changes are told; in older revisions this was `resources/subscribe`. */
  resourceSubscriptions?: string[]
  /** The tasks whose changes are told (extension `io.modelcontextprotocol/tasks`). */
  taskIds?: string[]
}

const filter = shape<SubscriptionFilter>({
  toolsListChanged: optional(flag),
  promptsListChanged: optional(flag),
  resourcesListChanged: optional(flag),
  resourceSubscriptions: optional(listOf(text)),
  taskIds: optional(listOf(text)),
})

/** Params of `subscriptions/listen` (2026-07-28): opens a stream, answered when the server ends it. */
export interface ListenParams extends RequestParams {
  notifications: SubscriptionFilter
}

export const listenParams = shape<ListenParams>({ notifications: filter, ...requestFields })

/** Result of `subscriptions/listen`: the stream ended in order; `_meta` has the id of its request. */
export interface ListenResult extends BaseResult {}

export const listenResult = shape<ListenResult>(resultFields)

/** Params of `notifications/subscriptions/acknowledged`: what of the filter the server will tell. */
export interface AcknowledgedParams extends BaseNotificationParams {
  notifications: SubscriptionFilter
}

export const acknowledgedParams = shape<AcknowledgedParams>({ notifications: filter, ...metaField })
