import type { NodeFacts } from './inspect.js'

/**
 * One place in a tree: a child keeps its row when it is restarted. Without registered names, since those of
 * sessions have their ids, which are secrets.
 */
export interface Row extends Omit<NodeFacts, 'uptime' | 'names'> {
  /** Its number, which no other place of this program has. */
  readonly key: number
  /** The key of the row above; null for the root of a tree. */
  readonly parent: number | null
  /** The number of its tree. */
  readonly tree: number
  /** Milliseconds since 1970 when this incarnation started; undefined where none runs. */
  readonly since: number | undefined
  /** How many children are left out, since there are too many rows. */
  readonly hidden?: number
}

export type Rows = ReadonlyMap<number, Row>
