import type { Checker, GaveUp, Restarted, Violation } from '../history.js'

/** A supervisor starts children again as often as it may, and gives up only when that is used up. */
export const supervisors: Checker = (history) => {
  const found: Violation[] = []
  const windows = new Map<string, Attempt[]>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'died')
      for (const key of windows.keys()) if (programOf(key) === event.program) windows.delete(key)
    if (event.type === 'restarted') {
      // Its own supervisor starts this one again: it has all of its restarts.
      for (const key of windows.keys()) if (isChild(key, event)) windows.delete(key)
      const attempts = windows.get(keyOf(event)) ?? []
      windows.set(keyOf(event), attempts)
      if (attempts.some(({ round }) => round === event.round)) continue
      attempts.push({ round: event.round, at: event.since ?? event.at, index })
      const recent = within(attempts, event)
      if (recent.length > event.intensity)
        found.push(
          violation(
            'restarted too often',
            `${describe(event)} started ${event.child} again as the ${recent.length}th within ${event.period} ms`,
            recent.map((attempt) => attempt.index),
          ),
        )
    }
    if (event.type === 'gaveUp') {
      const recent = within(windows.get(keyOf(event)) ?? [], event)
      windows.delete(keyOf(event))
      if (recent.length < event.intensity)
        found.push(
          violation(
            'gave up early',
            `${describe(event)} gave up after ${recent.length} restarts within ${event.period} ms`,
            [...recent.map((attempt) => attempt.index), index],
          ),
        )
    }
  }
  return found
}

/** One round of restarts. */
interface Attempt {
  readonly round: number
  readonly at: number
  readonly index: number
}

function within(
  attempts: readonly Attempt[],
  { at, period, ...event }: { readonly at: number; readonly period: number; readonly since?: number },
): Attempt[] {
  const now = event.since ?? at
  return attempts.filter((attempt) => now - attempt.at <= period)
}

function keyOf({ program, supervisor }: Restarted | GaveUp): string {
  return JSON.stringify([program, supervisor])
}

function programOf(key: string): string {
  return (JSON.parse(key) as [string, string])[0]
}

function isChild(key: string, { program, child }: Restarted): boolean {
  const [where, supervisor] = JSON.parse(key) as [string, string]
  return where === program && supervisor === child
}

function describe({ program, supervisor, intensity }: Restarted | GaveUp): string {
  return `${supervisor} of ${program}, which may start again ${intensity} times,`
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'supervisors', kind, message, events }
}
