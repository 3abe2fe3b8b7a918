import { type BaseResult, type Meta, metaField, resultFields } from './base.js'
import { listOf, optional, shape, text } from './shape.js'

/** A place that the server may work in; the uri is a `file:` one. */
export interface Root {
  uri: string
  name?: string
  _meta?: Meta
}

/** Result of `roots/list`. */
export interface ListRootsResult extends BaseResult {
  roots: Root[]
}

export const listRootsResult = shape<ListRootsResult>({
  roots: listOf(shape<Root>({ uri: text, name: optional(text), ...metaField })),
  ...resultFields,
})
