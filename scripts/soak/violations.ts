/** Lines that are kept of each kind: of what only came too late, a few say enough; of anything else, as many as memory allows for. */
const keptLate = 20
const kept = 1_000

/** What was wrong: all of it counted; what is wrong in another way than by its time is always described. */
export class Violations {
  readonly byKind = new Map<string, number>()
  readonly #lines = new Map<string, string[]>()
  count = 0

  /** Lines, the serious kinds first. */
  get list(): readonly string[] {
    const kinds = [...this.#lines].toSorted(([a], [b]) => Number(isLate(a)) - Number(isLate(b)))
    return kinds.flatMap(([kind, lines]) => lines.map((line) => `${kind}: ${line}`))
  }

  add(kind: string, detail: string): void {
    const count = (this.byKind.get(kind) ?? 0) + 1
    this.count += 1
    this.byKind.set(kind, count)
    const lines = this.#lines.get(kind) ?? []
    this.#lines.set(kind, lines)
    if (count <= (isLate(kind) ? keptLate : kept)) lines.push(detail)
  }
}

const lateKinds: ReadonlySet<string> = new Set([
  'late',
  'no outcome',
  'loss told late',
  'not ready in time',
  'served late',
  'settled: settled late',
  'liveness: settled late',
])

function isLate(kind: string): boolean {
  return lateKinds.has(kind)
}
