import type { Annotations, BaseMetadata, Icon, Meta } from './base.js'

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

/** A resource to be read on its own; it need not be in `resources/list`. */
export interface ResourceLink extends Resource {
  type: 'resource_link'
}

/** One piece of a tool's or prompt's answer; types not known here must not end a reader. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
