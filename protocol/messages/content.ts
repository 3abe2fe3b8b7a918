import { isObject } from '../wire/json.js'
import {
  type Annotations,
  annotations,
  type BaseMetadata,
  type Icon,
  type Meta,
  metaField,
  shownFields,
} from './base.js'
import { type Check, chosen, finite, loose, optional, shape, text } from './shape.js'

/** Text. */
export interface TextContent {
  type: 'text'
  text: string
  annotations?: Annotations
  _meta?: Meta
}

/** A picture, its bytes in base64. */
export interface ImageContent {
  type: 'image'
  data: string
  mimeType: string
  annotations?: Annotations
  _meta?: Meta
}

/** Sound, its bytes in base64. */
export interface AudioContent {
  type: 'audio'
  data: string
  mimeType: string
  annotations?: Annotations
  _meta?: Meta
}

/** A resource that is text. */
export interface TextResourceContents {
  uri: string
  mimeType?: string
  text: string
  _meta?: Meta
}

/** A resource that is bytes, in base64. */
export interface BlobResourceContents {
  uri: string
  mimeType?: string
  blob: string
  _meta?: Meta
}

const contentsFields = { uri: text, mimeType: optional(text), ...metaField }
const textContents = shape<TextResourceContents>({ ...contentsFields, text })
const blobContents = shape<BlobResourceContents>({ ...contentsFields, blob: text })
export const contents = chosen<TextResourceContents | BlobResourceContents>(({ blob }) =>
  blob === undefined ? textContents : blobContents,
)

/** A resource inside a message. */
export interface EmbeddedResource {
  type: 'resource'
  resource: TextResourceContents | BlobResourceContents
  annotations?: Annotations
  _meta?: Meta
}

/** Something a client can read by its uri. */
export interface Resource extends BaseMetadata {
  uri: string
  description?: string
  mimeType?: string
  /** Bytes before any encoding. */
  size?: number
  icons?: Icon[]
  annotations?: Annotations
  _meta?: Meta
}

const resourceFields = {
  ...shownFields,
  uri: text,
  mimeType: optional(text),
  size: optional(finite),
  annotations,
  ...metaField,
}
export const resource = shape<Resource>(resourceFields)

/** A resource to be read on its own; it need not be in `resources/list`. */
export interface ResourceLink extends Resource {
  type: 'resource_link'
}

/** One block of a tool's or prompt's answer; readers have to pass over types they do not know. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

const type = loose(text)
const others = { type, annotations, ...metaField }
const unknownBlock = shape<{ type: string }>({ type })
const blocks: ReadonlyMap<unknown, Check<ContentBlock>> = new Map<string, Check<ContentBlock>>([
  ['text', shape<TextContent>({ ...others, text })],
  ['image', shape<ImageContent>({ ...others, data: text, mimeType: text })],
  ['audio', shape<AudioContent>({ ...others, data: text, mimeType: text })],
  ['resource', shape<EmbeddedResource>({ ...others, resource: contents })],
  ['resource_link', shape<ResourceLink>({ type, ...resourceFields })],
])

/** A block of a known kind has the fields of that kind; kinds that are not known pass. */
export const content = chosen<ContentBlock>(({ type }) => blocks.get(type) ?? loose(unknownBlock))

/**
 * The hints about a block of content. Examples of the specification put those of an embedded resource inside
 * the resource, its schema on the block. Both are read, the block first; we write on the block.
 */
export function annotationsOf(block: ContentBlock): Annotations | undefined {
  if (isObject(block.annotations) || block.type !== 'resource') return block.annotations
  const { annotations } = block.resource as { readonly annotations?: unknown }
  return isObject(annotations) ? (annotations as Annotations) : undefined
}
