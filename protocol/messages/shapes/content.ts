import { isObject } from '../../wire/json.js'
import { type Check, finite, optional, type Problem, type Shape, shape, text } from '../shape.js'
import type {
  AudioContent,
  EmbeddedResource,
  ImageContent,
  Resource,
  ResourceLink,
  TextContent,
} from '../types/content.js'
import { annotations, otherFields, shownFields } from './base.js'

const others = { type: text, annotations, ...otherFields }
const contentsFields = { uri: text, mimeType: optional(text), ...otherFields }
const textContents = shape<{ uri: string; text: string }>({ ...contentsFields, text })
const blobContents = shape<{ uri: string; blob: string }>({ ...contentsFields, blob: text })
const unknownBlock = shape<{ type: string }>({ type: text })

/** The fields of a resource as a list or a link shows it. */
export const resourceFields = {
  ...shownFields,
  uri: text,
  mimeType: optional(text),
  size: optional(finite),
  annotations,
  ...otherFields,
}

/** A resource as a list shows it. */
export const resource: Shape<Resource> = shape<Resource>(resourceFields)

const blocks: ReadonlyMap<unknown, Check> = new Map<string, Check>([
  ['text', shape<TextContent>({ ...others, text })],
  ['image', shape<ImageContent>({ ...others, data: text, mimeType: text })],
  ['audio', shape<AudioContent>({ ...others, data: text, mimeType: text })],
  ['resource', shape<EmbeddedResource>({ ...others, resource: contents })],
  ['resource_link', shape<ResourceLink>({ type: text, ...resourceFields })],
])

/**
 * A block of content: of a kind that is known, it has the fields of that kind; kinds that are not known pass.
 */
export function content(value: unknown): Problem | undefined {
  const known = isObject(value) ? blocks.get(value.type) : undefined
  return (known ?? unknownBlock)(value)
}

/** The contents of a resource: text or bytes. */
export function contents(value: unknown): Problem | undefined {
  return isObject(value) && value.blob !== undefined ? blobContents(value) : textContents(value)
}
