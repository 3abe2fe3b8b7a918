import { livingTrees } from '../faults/containment.js'
import type { Process } from '../process/process.js'
import { Tree } from '../process/tree.js'
import { type Below, childrenOf, type Facts, factsOf, vacancyOf } from './inspect.js'

/**
 * One place in a tree: a child keeps its row when it is restarted. Without registered names, since those of
 * sessions have their ids, which are secrets.
 */
export interface Row extends Omit<Facts, 'uptime' | 'names'> {
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

/** Numbers the places, and remembers when a process started. One for all looks that are compared. */
export class Places {
  readonly #keys = new WeakMap<object, number>()
  readonly #starts = new WeakMap<Process, number>()
  #last = 0

  keyOf(below: Below): number {
    const place = below.record ?? below.process
    let key = this.#keys.get(place)
    if (key === undefined) {
      this.#last += 1
      key = this.#last
      this.#keys.set(place, key)
    }
    return key
  }

  /** Its clock may be any; computed once, or it would waver. */
  startOf(process: Process): number {
    const known = this.#starts.get(process)
    if (known !== undefined) return known
    const { now, date } = process.tree.world
    const at = Math.round(date() - (now() - process.startedAt))
    this.#starts.set(process, at)
    return at
  }
}

/**
 * Reads all trees of this process of Node but those that `leaveOut` names by number, level by level, without
 * sending a message. Below `most` rows; what is left out is counted in the row above it.
 */
export function readRows(
  places: Places,
  { most, leaveOut }: { most: number; leaveOut: ReadonlySet<number> },
): Rows {
  const rows = new Map<number, Row>()
  const open: { readonly process: Process; readonly key: number }[] = []
  const add = (below: Below, parent: number | null, tree: number): void => {
    const key = places.keyOf(below)
    const { process } = below
    rows.set(key, rowOf(below, { key, parent, tree, since: process && places.startOf(process) }))
    if (process !== undefined) open.push({ process, key })
  }
  for (const { id, root } of roots()) if (!leaveOut.has(id)) add({ process: root }, null, id)
  for (const { process, key } of open) {
    const below = childrenOf(process)
    const shown = below.slice(0, Math.max(0, most - rows.size))
    for (const each of shown) add(each, key, process.tree.id)
    const row = rows.get(key)
    if (row !== undefined && shown.length < below.length)
      rows.set(key, { ...row, hidden: below.length - shown.length })
  }
  return rows
}

function rowOf(below: Below, place: Pick<Row, 'key' | 'parent' | 'tree' | 'since'>): Row {
  const facts = below.process === undefined ? vacancyOf(below.record) : factsOf(below.process, below.record)
  const { uptime: _counted, names: _secret, ...rest } = facts
  return { ...rest, ...place }
}

function* roots(): Generator<{ readonly id: number; readonly root: Process }> {
  for (const tree of livingTrees())
    if (tree instanceof Tree && tree.root !== null) yield { id: tree.id, root: tree.root as Process }
}

/** What is other in `after`: rows that are new or not as they were, and keys of those that have gone. */
export function compareRows(
  before: Rows,
  after: Rows,
): { readonly rows: readonly Row[]; readonly gone: readonly number[] } {
  const rows = [...after.values()].filter((row) => !isSame(before.get(row.key), row))
  const gone = [...before.keys()].filter((key) => !after.has(key))
  return { rows, gone }
}

const fields = [
  ...['process', 'status', 'mailbox', 'about', 'restarts', 'reason', 'restartsLeft', 'hidden', 'degraded'],
  ...['name', 'id', 'strategy', 'parent'],
] as readonly (keyof Row)[]

function isSame(before: Row | undefined, row: Row): boolean {
  if (before === undefined) return false
  return fields.every((field) => before[field] === row[field])
}

/** The processes of these rows, by key. */
export function findProcess(places: Places, key: number, leaveOut: ReadonlySet<number>): Process | undefined {
  const open: Below[] = []
  for (const { id, root } of roots()) if (!leaveOut.has(id)) open.push({ process: root })
  for (const below of open) {
    if (below.process === undefined) continue
    if (places.keyOf(below) === key) return below.process
    open.push(...childrenOf(below.process))
  }
  return undefined
}
