import {
  type Annotations,
  annotations,
  type BaseMetadata,
  type BaseNotificationParams,
  type CacheableResult,
  cacheableFields,
  type Icon,
  type Meta,
  metaField,
  type PaginatedResult,
  pageFields,
  type RequestParams,
  type RetryParams,
  requestFields,
  retryFields,
  shownFields,
} from './base.js'
import {
  type BlobResourceContents,
  contents,
  type Resource,
  resource,
  type TextResourceContents,
} from './content.js'
import { listOf, optional, shape, text } from './shape.js'

/** A family of resources whose uris follow a URI template (RFC 6570). */
export interface ResourceTemplate extends BaseMetadata {
  uriTemplate: string
  description?: string
  /** Only when every resource of the family has this type. */
  mimeType?: string
  icons?: Icon[]
  annotations?: Annotations
  _meta?: Meta
}

/** Result of `resources/list`: one page of resources. */
export interface ListResourcesResult extends PaginatedResult {
  resources: Resource[]
}

export const listResourcesResult = shape<ListResourcesResult>({ resources: listOf(resource), ...pageFields })

/** Result of `resources/templates/list`: one page of templates. */
export interface ListResourceTemplatesResult extends PaginatedResult {
  resourceTemplates: ResourceTemplate[]
}

const template = shape<ResourceTemplate>({
  ...shownFields,
  uriTemplate: text,
  mimeType: optional(text),
  annotations,
  ...metaField,
})
export const listResourceTemplatesResult = shape<ListResourceTemplatesResult>({
  resourceTemplates: listOf(template),
  ...pageFields,
})

/** Params of `resources/subscribe` and `resources/unsubscribe`. */
export interface ResourceRequestParams extends RequestParams {
  uri: string
}

export const resourceRequestParams = shape<ResourceRequestParams>({ uri: text, ...requestFields })

/** Params of `resources/read`. */
export interface ReadResourceParams extends ResourceRequestParams, RetryParams {}

export const readResourceParams = shape<ReadResourceParams>({ uri: text, ...retryFields })

/** Result of `resources/read`: more than one part where the uri stands for several, such as a folder. */
export interface ReadResourceResult extends CacheableResult {
  contents: (TextResourceContents | BlobResourceContents)[]
}

export const readResourceResult = shape<ReadResourceResult>({
  contents: listOf(contents),
  ...cacheableFields,
})

/** Params of `notifications/resources/updated`; the uri may lie below the one subscribed to. */
export interface ResourceUpdatedParams extends BaseNotificationParams {
  uri: string
}

export const resourceUpdatedParams = shape<ResourceUpdatedParams>({ uri: text, ...metaField })
