import { listOf, optional, type Shape, shape, text } from '../shape.js'
import type { ListRootsResult, Root } from '../types/roots.js'
import { otherFields } from './base.js'

/** Result of `roots/list`. */
export const listRootsResult: Shape<ListRootsResult> = shape<ListRootsResult>({
  roots: listOf(shape<Root>({ uri: text, name: optional(text), ...otherFields })),
  ...otherFields,
})
