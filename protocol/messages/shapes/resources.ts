import { listOf, optional, type Shape, shape, text } from '../shape.js'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  ResourceRequestParams,
  ResourceTemplate,
  ResourceUpdatedParams,
} from '../types/resources.js'
import { annotations, otherFields, pageFields, requestFields, retryFields, shownFields } from './base.js'
import { contents, resource } from './content.js'

const template = shape<ResourceTemplate>({
  ...shownFields,
  uriTemplate: text,
  mimeType: optional(text),
  annotations,
  ...otherFields,
})

/** Result of `resources/list`. */
export const listResourcesResult: Shape<ListResourcesResult> = shape<ListResourcesResult>({
  resources: listOf(resource),
  ...pageFields,
})

/** Result of `resources/templates/list`. */
export const listTemplatesResult: Shape<ListResourceTemplatesResult> = shape<ListResourceTemplatesResult>({
  resourceTemplates: listOf(template),
  ...pageFields,
})

/** Params of `resources/read`. */
export const readResourceParams: Shape<ReadResourceParams> = shape<ReadResourceParams>({
  uri: text,
  ...retryFields,
})

/** Params of the other requests that name one resource. */
export const resourceParams: Shape<ResourceRequestParams> = shape<ResourceRequestParams>({
  uri: text,
  ...requestFields,
})

/** Result of `resources/read`. */
export const readResourceResult: Shape<ReadResourceResult> = shape<ReadResourceResult>({
  contents: listOf(contents),
  ...otherFields,
})

/** Params of `notifications/resources/updated`. */
export const resourceUpdatedParams: Shape<ResourceUpdatedParams> = shape<ResourceUpdatedParams>({
  uri: text,
  ...otherFields,
})
