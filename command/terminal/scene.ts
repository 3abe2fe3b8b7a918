import { formatTree, type TreeNode } from 'caduceus'
import type { Row } from '../../runtime/watch/row.js'
import type { Changes, Picture } from 'caduceus/transports'
import { unsteered } from '../../runtime/base/steering.js'

/** Ms that something which has changed for the worse stays marked. */
const marked = 3_000
const shownHappenings = 8

/** A program as it is known here: its picture, and the changes since. */
export class Scene {
  readonly program: Picture['program']
  readonly rows: Map<number, Row>
  readonly #marks = new Map<number, number>()
  happened: Picture['happened']
  health: Picture['health']
  at: number

  constructor({ program, rows, happened, health, at }: Picture) {
    this.program = program
    this.rows = new Map(rows.map((row) => [row.key, row]))
    this.happened = happened
    this.health = health
    this.at = at
  }

  change({ rows, gone, happened, health, at }: Changes, now: number): void {
    const left = gone.map((key) => this.rows.get(key))
    for (const row of rows) {
      // a session that comes back is a child of its own, of the same name
      const before =
        this.rows.get(row.key) ??
        left.find((one) => one?.id === row.id && one.parent === row.parent && row.kind !== 'task')
      if (before !== undefined && before.process !== row.process) this.#marks.set(row.key, now)
      this.rows.set(row.key, row)
    }
    for (const key of gone) {
      this.rows.delete(key)
      this.#marks.delete(key)
    }
    this.happened = [...this.happened, ...happened].slice(-200)
    this.health = health
    this.at = at
  }

  /** Whether another process took this place within the last three seconds. */
  isFresh(key: number, now: number): boolean {
    return now - (this.#marks.get(key) ?? Number.NEGATIVE_INFINITY) < marked
  }
}

interface Line {
  readonly row: Row
  readonly text: string
}

/** The trees as lines, each with its row. */
export function linesOf(scene: Scene): readonly Line[] {
  const nodes = new Map<number, TreeNode & { readonly children: TreeNode[] }>()
  const order: TreeNode[] = []
  const keys = new Map<TreeNode, Row>()
  for (const row of scene.rows.values()) {
    const uptime = row.since === undefined ? 0 : scene.at - row.since
    const about =
      row.hidden === undefined ? row.about : `${row.about ?? ''} and ${row.hidden} more below`.trim()
    const node = { ...row, names: [], uptime, ...(about !== undefined && { about }), children: [] }
    nodes.set(row.key, node)
    keys.set(node, row)
  }
  for (const [key, node] of nodes) {
    const above = scene.rows.get(key)?.parent
    const parent = above == null ? undefined : nodes.get(above)
    if (parent === undefined) order.push(node)
    else parent.children.push(node)
  }
  return order.flatMap((root) => {
    const texts = formatTree(root).split('\n')
    return [...flat(root)].map((node, i) => ({ row: keys.get(node) as Row, text: texts[i] ?? '' }))
  })
}

/** A node, then all below it, as `formatTree` writes them. */
function* flat(root: TreeNode): Generator<TreeNode> {
  const open = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node
    open.push(...[...node.children].reverse())
  }
}

/** What is seen on a terminal of this size from line `top` of the trees on; `top` as far as it can be. */
export function screenOf(
  scene: Scene,
  { columns, rows, top, now }: { columns: number; rows: number; top: number; now: number },
): { readonly lines: readonly string[]; readonly top: number } {
  const all = linesOf(scene)
  const below = scene.happened.slice(-Math.min(shownHappenings, Math.max(0, rows - 8)))
  const room = Math.max(1, rows - 4 - below.length)
  const from = Math.max(0, Math.min(top, all.length - room))
  const seen = all.slice(from, from + room)
  const where = all.length > room ? `  lines ${from + 1} to ${from + seen.length} of ${all.length}` : ''
  const lines = [
    `\x1b[1m${clip(titleOf(scene), columns)}`,
    clip(countsOf(scene), columns),
    ...seen.map(({ row, text }) => `${colourOf(row, scene, now)}${clip(text, columns)}`),
    ...Array.from({ length: room - seen.length }, () => ''),
    `\x1b[2m${clip(`q ends, arrows move${where}`, columns)}`,
    ...below.map((each) => `${each.what === 'crash' ? '\x1b[31m' : ''}${clip(happeningText(each), columns)}`),
  ]
  return { lines: lines.slice(0, rows), top: from }
}

function titleOf({ program, health, at }: Scene): string {
  const { name, pid, node } = program
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`
  const memory = `memory ${megabytes(health.rss)}, heap ${megabytes(health.heapUsed)}`
  const time = new Date(at).toTimeString().slice(0, 8)
  return `${name}  pid ${pid}, node ${node}, up ${durationText(health.uptime)}, ${memory}, loop ${Math.round(health.busy * 100)} % busy  ${time}`
}

/** Sessions and clients by their phase. */
function countsOf({ rows }: Scene): string {
  const counts = new Map<string, Map<string, number>>()
  for (const { name, about } of rows.values()) {
    if ((name !== 'session' && name !== 'client') || about === undefined) continue
    const phase = about.split(/[ ,]/)[0] ?? ''
    const of = counts.get(name) ?? new Map<string, number>()
    counts.set(name, of.set(phase, (of.get(phase) ?? 0) + 1))
  }
  const parts = [...counts].map(([name, phases]) => {
    const total = [...phases.values()].reduce((sum, count) => sum + count, 0)
    const each = [...phases].map(([phase, count]) => `${count} ${phase}`).join(', ')
    return `${total} ${name}${total === 1 ? '' : 's'} (${each})`
  })
  return [`${rows.size} processes`, ...parts].join(', ')
}

function colourOf(row: Row, scene: Scene, now: number): string {
  if (row.process === undefined || row.status === 'ended') return '\x1b[31m'
  if (scene.isFresh(row.key, now)) return '\x1b[33m'
  return row.status === 'running' ? '' : '\x1b[33m'
}

function happeningText({ at, what, name, text }: Picture['happened'][number]): string {
  return `${new Date(at).toTimeString().slice(0, 8)}  ${what.padEnd(8)}  ${name}: ${text}`
}

function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

function clip(given: string, columns: number): string {
  const text = unsteered(given.replace(/\s*\n\s*/g, ' '))
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text
}
