import { isObject } from '../json.js'
import { finite, listOf, optional, type Problem, type Shape, shape, text } from '../shape.js'
import type { Resource } from '../types/content.js'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  ResourceRequestParams,
  ResourceTemplate,
  ResourceUpdatedParams,
} from '../types/resources.js'
import { annotations, namedFields, otherFields, pageFields, requestFields, retryFields } from './base.js'

const resource = shape<Resource>({
  ...namedFields,
  uri: text,
  mimeType: optional(text),
  size: optional(finite),
  annotations,
  ...otherFields,
})
const template = shape<ResourceTemplate>({
  ...namedFields,
  uriTemplate: text,
  mimeType: optional(text),
  annotations,
  ...otherFields,
})
const contentsFields = { uri: text, mimeType: optional(text), ...otherFields }
const textContents = shape<{ uri: string; text: string }>({ ...contentsFields, text })
const blobContents = shape<{ uri: string; blob: string }>({ ...contentsFields, blob: text })

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

function contents(value: unknown): Problem | undefined {
  return isObject(value) && value.blob !== undefined ? blobContents(value) : textContents(value)
}
