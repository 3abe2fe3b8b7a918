import { expiry } from './checkers/expiry.js'
import { handlers } from './checkers/handlers.js'
import { isolation } from './checkers/isolation.js'
import { leaks } from './checkers/leaks.js'
import { lists } from './checkers/lists.js'
import { liveness } from './checkers/liveness.js'
import { owners } from './checkers/owners.js'
import { settled } from './checkers/settled.js'
import { streams } from './checkers/streams.js'
import { subscriptions } from './checkers/subscriptions.js'
import { supervisors } from './checkers/supervisors.js'
import { tables } from './checkers/tables.js'
import { tokens } from './checkers/tokens.js'
import { truth } from './checkers/truth.js'
import type { Checker, Event, Facts, Violation } from './history.js'

/** All checkers by their names. */
export const checkers: Readonly<Record<string, Checker>> = {
  settled,
  truth,
  lists,
  owners,
  streams,
  isolation,
  liveness,
  leaks,
  supervisors,
  handlers,
  tokens,
  subscriptions,
  expiry,
  tables,
}

/** What is wrong with a history, by all checkers. */
export function check(history: readonly Event[], facts: Facts): Violation[] {
  return Object.values(checkers).flatMap((judge) => judge(history, facts))
}

/** A violation for people: what it is, and the events that prove it. */
export function showViolation(
  { checker, kind, message, events }: Violation,
  history: readonly Event[],
): string {
  const proof = [...new Set(events)].sort((a, b) => a - b)
  const lines = proof.map((index) => `    ${index} ${JSON.stringify(history[index])}`)
  return [`${checker}: ${kind}: ${message}`, ...lines].join('\n')
}
