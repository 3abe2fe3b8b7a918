import type { Violations } from './violations.js'

/** What the client said of one call that servers keep account of. */
export interface Told {
  readonly token: string
  /** `ok`, or the code of the error. */
  readonly code: string
  /** What the error says; true for an answer. */
  readonly sent: boolean
  /** How often the call may have been made. */
  readonly most: number
}

/** Compares what clients were told with what servers did. */
export function audit(told: Iterable<Told>, done: ReadonlyMap<string, number>, violations: Violations): void {
  const known = new Set<string>()
  for (const { token, code, sent, most } of told) {
    known.add(token)
    const times = done.get(token) ?? 0
    if (code === 'ok' && times === 0) violations.add('answered, not done', token)
    if (!sent && times > 0) violations.add('done, though told unsent', `${token} (${code})`)
    if (times > most) violations.add('done too often', `${token}: ${times} times (${code})`)
  }
  for (const token of done.keys()) if (!known.has(token)) violations.add('done, never asked for', token)
}

/** How often each line stands in these texts. A line that a kill has cut short is none. */
export function countLines(texts: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts)
    for (const line of text.split('\n').slice(0, -1)) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}
