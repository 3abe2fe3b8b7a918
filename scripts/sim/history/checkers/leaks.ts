import type { Census, Checker, Violation } from '../history.js'
import type { Placed } from '../views.js'

/** When all is closed, every program holds what it held before. */
export const leaks: Checker = (history, { slack }) => {
  const found: Violation[] = []
  const bases = new Map<string, Placed<Census>>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'died') bases.delete(event.program)
    if (event.type !== 'census') continue
    const { program, when, counts } = event
    if (when === 'base') bases.set(program, { ...event, index })
    if (when !== 'end') continue
    const base = bases.get(program)
    bases.delete(program)
    for (const [name, count] of Object.entries(counts)) {
      const before = base?.counts[name] ?? 0
      if (count <= before + (slack?.[name] ?? 0)) continue
      const proof = base === undefined ? [index] : [base.index, index]
      found.push(violation('leak', `${program} has ${count} ${name}, and had ${before}`, proof))
    }
  }
  for (const { program, index } of bases.values())
    found.push(violation('not counted', `nobody counted in the end what ${program} holds`, [index]))
  return found
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'leaks', kind, message, events }
}
