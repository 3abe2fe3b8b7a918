import type {
  Annotations,
  BaseMetadata,
  BaseNotificationParams,
  CacheableResult,
  Icon,
  Meta,
  PaginatedResult,
  RequestParams,
  RetryParams,
} from './base.js'
import type { BlobResourceContents, Resource, TextResourceContents } from './content.js'

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

/** Result of `resources/templates/list`: one page of templates. */
export interface ListResourceTemplatesResult extends PaginatedResult {
  resourceTemplates: ResourceTemplate[]
}

/** Params of `resources/subscribe` and `resources/unsubscribe`. */
export interface ResourceRequestParams extends RequestParams {
  uri: string
}

/** Params of `resources/read`. */
export interface ReadResourceParams extends ResourceRequestParams, RetryParams {}

/** Result of `resources/read`: more than one part where the uri stands for several, such as a folder. */
export interface ReadResourceResult extends CacheableResult {
  contents: (TextResourceContents | BlobResourceContents)[]
}

/** Params of `notifications/resources/updated`; the uri may lie below the one subscribed to. */
export interface ResourceUpdatedParams extends BaseNotificationParams {
  uri: string
}
