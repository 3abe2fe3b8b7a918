const described = 50

/** What was wrong: all of it counted, the first fifty described. */
export class Violations {
  readonly list: string[] = []
  readonly byKind = new Map<string, number>()
  count = 0

  add(kind: string, detail: string): void {
    this.count += 1
    this.byKind.set(kind, (this.byKind.get(kind) ?? 0) + 1)
    if (this.list.length < described) this.list.push(`${kind}: ${detail}`)
  }
}
