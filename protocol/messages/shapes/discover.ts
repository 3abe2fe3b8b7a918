import { finite, listOf, oneOf, optional, record, type Shape, shape, text } from '../shape.js'
import type { DiscoverResult } from '../types/discover.js'
import { otherFields } from './base.js'

/** Result of `server/discover`. */
export const discoverResult: Shape<DiscoverResult> = shape<DiscoverResult>({
  supportedVersions: listOf(text),
  capabilities: record,
  instructions: optional(text),
  ttlMs: optional(finite),
  cacheScope: optional(oneOf('public', 'private')),
  ...otherFields,
})
