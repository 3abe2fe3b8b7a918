import { check, showViolation } from './history/check.js'
import type { Violation } from './history/history.js'
import type { Plan } from './plan/plan.js'
import { simulate } from './run.js'

/** What came of a plan: plain data for other processes. */
export interface Verdict {
  readonly seed: number
  /** The digest of everything that happened. */
  readonly hash: string
  readonly wrong: readonly Wrong[]
  /** Simulated ms. */
  readonly simulated: number
  readonly steps: number
  /** Calls that were made. */
  readonly operations: number
  /** How calls ended: `ok`, a code, or `open`, and how often. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Faults that happened, by verb. */
  readonly faults: Readonly<Record<string, number>>
}

/** Something that must not be. */
export interface Wrong {
  readonly checker: string
  readonly kind: string
  readonly message: string
  /** With the events that prove it. */
  readonly story: string
}

/** Carries the plan out, and has the checkers judge what happened. */
export async function judge(plan: Plan, tell?: (line: string) => void): Promise<Verdict> {
  const { hash, history, facts, broken, steps, simulated } = await simulate(plan, tell)
  const outcomes: Record<string, number> = {}
  const faults: Record<string, number> = {}
  const count = (into: Record<string, number>, name: string, by = 1): void => {
    into[name] = (into[name] ?? 0) + by
  }
  let operations = 0
  let settled = 0
  for (const event of history) {
    if (event.type === 'invoke') operations += 1
    if (event.type === 'fault') count(faults, event.verb)
    if (event.type !== 'ok' && event.type !== 'fail') continue
    settled += 1
    count(outcomes, event.type === 'ok' ? 'ok' : event.code)
  }
  if (operations > settled) count(outcomes, 'open', operations - settled)
  const tellOf = (violation: Violation): Wrong => ({
    checker: violation.checker,
    kind: violation.kind,
    message: violation.message,
    story: showViolation(violation, history),
  })
  const wrong = [
    ...broken.map((text) => ({ checker: 'run', kind: kindOf(text), message: text, story: `run: ${text}` })),
    ...check(history, facts).map(tellOf),
  ]
  return { seed: plan.seed, hash, wrong, simulated, steps, operations, outcomes, faults }
}

/** The same for all of its kind: without names and numbers. */
function kindOf(text: string): string {
  return text.replace(/\b[\w-]{21,}(?![\w-])/g, 'ID').replace(/\b[sc]?\d+\b/g, 'N')
}
