import { livingTrees } from '../faults/containment.js'
import { cut } from '../base/cut.js'
import type { Process } from '../process/process.js'
import { Tree } from '../process/tree.js'
import { type Elsewhere, elsewheresOf } from './elsewhere.js'
import { type Below, childrenOf, factsOf, vacancyOf } from './inspect.js'
import type { Row, Rows } from './row.js'

/** Keys and trees of another thread, process or node, to those that they have here. */
interface Numbers {
  /** The key of the row of a node. */
  readonly own: number
  readonly keys: Map<number, number>
  readonly trees: Map<number, number>
}

/** Numbers the places, and remembers when a process started. One for all looks that are compared. */
export class Places {
  readonly #keys = new WeakMap<object, number>()
  readonly #starts = new WeakMap<Process, number>()
  readonly #beyond = new WeakMap<Elsewhere, Numbers>()
  #last = 0
  #lastTree = 0

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

  /** Gives what is told of there numbers of this side, and forgets those of what has gone. */
  numbersOf(beyond: Elsewhere): Numbers {
    const before = this.#beyond.get(beyond)
    const own = before?.own ?? ++this.#last
    const numbers: Numbers = { own, keys: new Map(), trees: new Map() }
    for (const { key, tree } of beyond.rows.values()) {
      numbers.keys.set(key, before?.keys.get(key) ?? ++this.#last)
      if (!numbers.trees.has(tree)) numbers.trees.set(tree, before?.trees.get(tree) ?? --this.#lastTree)
    }
    this.#beyond.set(beyond, numbers)
    return numbers
  }

  /** Its key and trees there to those of this side, as `numbersOf` gave them last. */
  known(beyond: Elsewhere): Numbers | undefined {
    return this.#beyond.get(beyond)
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

interface Reading {
  readonly most: number
  readonly leaveOut: ReadonlySet<number>
  readonly beyond?: Set<Elsewhere>
  readonly nodes?: boolean
}

/**
 * Reads all trees of this thread but those that `leaveOut` names by number, level by level, without sending a
 * message. Below `most` rows; what is left out is counted in the row above it. What is elsewhere is shown as
 * it was told of last, and put into `beyond`, where that is given: peers, and `nodes` if they are wanted.
 */
export function readRows(places: Places, { most, leaveOut, beyond, nodes = false }: Reading): Rows {
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
    for (const there of beyond === undefined ? [] : elsewheresOf(process)) {
      if (there.node !== undefined && !nodes) continue
      beyond?.add(there)
      addBeyond(rows, places, { there, key, most })
    }
    const below = childrenOf(process)
    const shown = below.slice(0, Math.max(0, most - rows.size))
    for (const each of shown) add(each, key, process.tree.id)
    const row = rows.get(key)
    if (row !== undefined && shown.length < below.length)
      rows.set(key, { ...row, hidden: (row.hidden ?? 0) + below.length - shown.length })
  }
  return rows
}

/** Rows of elsewhere, below the row `key` of who stands for them; a node has a row of its own. */
function addBeyond(
  rows: Map<number, Row>,
  places: Places,
  { there, key, most }: { there: Elsewhere; key: number; most: number },
): void {
  const { own, keys, trees } = places.numbersOf(there)
  const top = there.node === undefined ? key : own
  if (there.node !== undefined)
    rows.set(own, { ...nodeRow, id: there.node, about: there.health ?? 'looked at', key: own, parent: key })
  let hidden = 0
  for (const row of there.rows.values()) {
    const parent = row.parent === null ? top : (keys.get(row.parent) ?? top)
    const here = { key: keys.get(row.key) ?? 0, parent, tree: trees.get(row.tree) ?? 0 }
    if (rows.size < most) rows.set(here.key, { ...row, ...here })
    else hidden += 1
  }
  const above = rows.get(top)
  if (above !== undefined && hidden > 0) rows.set(top, { ...above, hidden })
}

const nodeRow = {
  name: 'node',
  kind: 'actor',
  status: 'running',
  process: 0,
  tree: 0,
  mailbox: 0,
  restarts: 0,
  since: undefined,
} as const

function rowOf(below: Below, place: Pick<Row, 'key' | 'parent' | 'tree' | 'since'>): Row {
  const facts = below.process === undefined ? vacancyOf(below.record) : factsOf(below.process, below.record)
  const { uptime: _counted, names: _secret, reason, ...rest } = facts
  const short = { id: shorten(rest.id), name: shorten(rest.name) }
  return { ...rest, ...short, ...(reason !== undefined && { reason: shorten(reason) }), ...place }
}

/** Rows are compared and sent four times a second, and their texts are whatever a program calls things. */
const longest = 300

function shorten(text: string): string {
  return text.length > longest ? `${cut(text, longest)}…` : text
}

function* roots(): Generator<{ readonly id: number; readonly root: Process }> {
  for (const tree of livingTrees())
    if (tree instanceof Tree && tree.root !== null) yield { id: tree.id, root: tree.root as Process }
}

/** The difference: new and changed rows of `after`, and the keys of those that are gone. */
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

/** The process of a row that runs, and its place below its supervisor. */
export function findProcess(
  places: Places,
  key: number,
  leaveOut: ReadonlySet<number>,
): Exclude<Below, { process: undefined }> | undefined {
  const open: Below[] = []
  for (const { id, root } of roots()) if (!leaveOut.has(id)) open.push({ process: root })
  for (const below of open) {
    if (below.process === undefined) continue
    if (places.keyOf(below) === key) return below
    open.push(...childrenOf(below.process))
  }
  return undefined
}
