import type { BaseResult, Meta } from './base.js'

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
