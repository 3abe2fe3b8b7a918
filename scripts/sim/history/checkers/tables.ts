import type { Checker, EventOf, Violation } from '../history.js'
import type { Placed } from '../views.js'

/** When all that came has gone, the tables of a program have what they had before anybody came. */
export const tables: Checker = (history, { room, rooms }) => {
  const found: Violation[] = []
  const fresh = new Map<string, Placed<EventOf<'tables'>>>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'died') fresh.delete(event.program)
    if (event.type !== 'tables') continue
    const { program, when, counts } = event
    if (when === 'fresh') fresh.set(program, { ...event, index })
    if (when !== 'rest') continue
    const first = fresh.get(program)
    if (first === undefined) {
      found.push(violation('not counted', `nobody counted what ${program} had before`, [index]))
      continue
    }
    for (const [source, count] of Object.entries(counts)) {
      const before = first.counts[source] ?? 0
      if (count <= before + ((rooms?.get(program) ?? room)?.[source] ?? 0)) continue
      const message = `${program} has ${count} entries in maps of ${source}, and had ${before}`
      found.push(violation(`grown: ${source}`, message, [first.index, index]))
    }
  }
  return found
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'tables', kind, message, events }
}
