import { isObject } from '../wire/json.js'
import type { Annotations } from './types/base.js'
import type { ContentBlock } from './types/content.js'

/**
 * The hints about a block of content. Examples of the specification put those of an embedded resource inside
 * the resource, its schema on the block: both are read, the block first, and only the block is what we write.
 */
export function annotationsOf(block: ContentBlock): Annotations | undefined {
  if (isObject(block.annotations) || block.type !== 'resource') return block.annotations
  const { annotations } = block.resource as { readonly annotations?: unknown }
  return isObject(annotations) ? (annotations as Annotations) : undefined
}
