import type { Row } from '../../../runtime/watch/row.js'
import type { Changes, Picture } from '../picture.js'

/** A row as it is shown. */
export interface TreeLine {
  readonly row: Row
  readonly depth: number
  readonly children: number
  readonly isOpen: boolean
  /** `died`: another process has just taken its place, or none; `back`: shortly after. */
  readonly mark: 'died' | 'back' | undefined
}

/** Ms that a row is red after its process has died, and green after that. */
const diedFor = 900
const backFor = 1_500

const deaths: ReadonlySet<string> = new Set(['crash', 'end', 'gave up'])

/** The trees as the page knows them: pure, for tests. */
export class Model {
  readonly rows = new Map<number, Row>()
  readonly #children = new Map<number | null, number[]>()
  readonly #closed = new Set<number>()
  readonly #died = new Map<number, number>()
  /** Rows that have gone, and are shown as dead for a moment. */
  readonly #ghosts = new Map<number, number>()
  /** Who took the place of a row that has gone. */
  readonly #heirs = new Map<number, number>()
  search = ''
  onlyTrouble = false

  take({ rows }: Picture): void {
    this.rows.clear()
    this.#children.clear()
    this.#died.clear()
    this.#ghosts.clear()
    this.#heirs.clear()
    for (const row of rows) this.#put(row)
  }

  change({ rows, gone, happened }: Changes, now: number): void {
    const dead = new Set(
      happened.filter(({ what }) => deaths.has(what)).map(({ tree, process }) => `${tree} ${process}`),
    )
    // what has ended because its work is done goes without a word
    for (const key of gone) {
      const row = this.rows.get(key)
      if (row !== undefined && dead.has(`${row.tree} ${row.process}`)) this.#ghosts.set(key, now)
      else this.#remove(key)
    }
    for (const row of rows) {
      const before = this.rows.get(row.key)
      const hadOne = before?.process !== undefined && before.status !== 'ended'
      if (hadOne && before.process !== row.process) this.#died.set(row.key, now)
      if (before === undefined) this.#succeed(row)
      this.#put(row)
    }
  }

  /** A session that comes back is a child of its own: it takes the place of the dead one of its name. */
  #succeed({ key, parent, id, kind }: Row): void {
    if (kind === 'task') return
    for (const [ghost, at] of this.#ghosts) {
      const before = this.rows.get(ghost)
      if (before === undefined || before.parent !== parent || before.id !== id) continue
      const siblings = this.#children.get(parent)
      siblings?.splice(siblings.indexOf(ghost), 1, key)
      this.rows.delete(ghost)
      this.#ghosts.delete(ghost)
      this.rows.set(key, before)
      this.#died.set(key, at)
      this.#heirs.set(ghost, key)
      return
    }
  }

  /** Takes away what has been shown as dead; true while something is still marked. */
  sweep(now: number): boolean {
    for (const [key, at] of this.#ghosts)
      if (now - at > diedFor) {
        this.#ghosts.delete(key)
        this.#remove(key)
      }
    for (const [key, at] of this.#died) if (now - at > diedFor + backFor) this.#died.delete(key)
    return this.#ghosts.size + this.#died.size > 0
  }

  open(key: number, isOpen: boolean): void {
    if (isOpen) this.#closed.delete(key)
    else this.#closed.add(key)
  }

  openAll(): void {
    this.#closed.clear()
  }

  closeAll(): void {
    for (const [key, below] of this.#children) if (key !== null && below.length > 0) this.#closed.add(key)
  }

  /** The lines from top to bottom. A search shows what fits, with all above it, whatever is closed. */
  lines(now: number): readonly TreeLine[] {
    const wanted = this.#wanted(now)
    const lines: TreeLine[] = []
    const open: { readonly key: number; readonly depth: number }[] = []
    const push = (keys: readonly number[] | undefined, depth: number): void => {
      for (let i = (keys?.length ?? 0) - 1; i >= 0; i -= 1) open.push({ key: keys?.[i] ?? 0, depth })
    }
    push(this.#children.get(null), 0)
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { key, depth } = next
      const row = this.rows.get(key)
      if (row === undefined || (wanted !== undefined && !wanted.has(key))) continue
      const below = this.#children.get(key)
      const isOpen = wanted !== undefined || !this.#closed.has(key)
      lines.push({ row, depth, children: below?.length ?? 0, isOpen, mark: this.#markOf(key, now) })
      if (isOpen) push(below, depth + 1)
    }
    return lines
  }

  /** How many sessions and clients there are, by phase. */
  counts(): ReadonlyMap<string, ReadonlyMap<string, number>> {
    const counts = new Map<string, Map<string, number>>()
    for (const row of this.rows.values()) {
      const phase = phaseOf(row)
      if (phase === undefined) continue
      const of = counts.get(row.name) ?? new Map<string, number>()
      counts.set(row.name, of.set(phase, (of.get(phase) ?? 0) + 1))
    }
    return counts
  }

  /** The row of a process: what a happening is about. */
  find(tree: number | undefined, process: number | undefined): Row | undefined {
    if (process === undefined) return undefined
    for (const row of this.rows.values()) if (row.tree === tree && row.process === process) return row
    return undefined
  }

  /** Its name and those above it, the root first. */
  pathOf(key: number): readonly Row[] {
    const path: Row[] = []
    for (let row = this.rows.get(key); row !== undefined; ) {
      path.unshift(row)
      row = row.parent === null ? undefined : this.rows.get(row.parent)
    }
    return path
  }

  /** The row, or the one that has taken its place. */
  nowAt(key: number): number | undefined {
    if (this.rows.has(key)) return key
    const heir = this.#heirs.get(key)
    return heir === undefined ? undefined : this.nowAt(heir)
  }

  #wanted(now: number): ReadonlySet<number> | undefined {
    const words = this.search.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0 && !this.onlyTrouble) return undefined
    const wanted = new Set<number>()
    for (const row of this.rows.values()) {
      const text = `${row.id} ${row.name} ${row.kind} ${row.status} ${row.about ?? ''}`.toLowerCase()
      if (!words.every((word) => text.includes(word))) continue
      if (this.onlyTrouble && !this.#isTrouble(row, now)) continue
      for (const { key } of this.pathOf(row.key)) wanted.add(key)
    }
    return wanted
  }

  #isTrouble(row: Row, now: number): boolean {
    const isWell =
      row.status === 'running' && row.restarts === 0 && row.mailbox < 100 && row.degraded === undefined
    return !isWell || this.#markOf(row.key, now) !== undefined
  }

  #markOf(key: number, now: number): TreeLine['mark'] {
    if (this.#ghosts.has(key)) return 'died'
    const at = this.#died.get(key)
    if (at === undefined) return undefined
    return now - at <= diedFor ? 'died' : 'back'
  }

  #put(row: Row): void {
    const before = this.rows.get(row.key)
    this.rows.set(row.key, row)
    if (before?.parent === row.parent && before !== undefined) return
    if (before !== undefined) this.#detach(before)
    const siblings = this.#children.get(row.parent)
    if (siblings === undefined) this.#children.set(row.parent, [row.key])
    else siblings.push(row.key)
  }

  #remove(key: number): void {
    const row = this.rows.get(key)
    if (row === undefined) return
    this.rows.delete(key)
    this.#children.delete(key)
    this.#closed.delete(key)
    this.#detach(row)
  }

  #detach(row: Row): void {
    const siblings = this.#children.get(row.parent)
    const at = siblings?.indexOf(row.key) ?? -1
    if (at >= 0) siblings?.splice(at, 1)
  }
}

/** The phase of a session or client: the first word that it says of itself. */
export function phaseOf({ name, about }: Row): string | undefined {
  return name === 'session' || name === 'client' ? about?.split(/[ ,]/)[0] : undefined
}
