import { check, showViolation } from '../sim/history/check.js'
import type { Event, Facts, Violation } from '../sim/history/history.js'
import { callTimeout, slack } from './calls.js'
import type { HistoryLog } from './history-log.js'
import type { Member } from './members.js'
import type { Violations } from './violations.js'

/** Milliseconds after the last fault in which the calls that it disturbed are settled. */
const calmWithin = callTimeout + slack

/**
 * Judges what happened, one client after the other, since hours of all would not fit in memory: what servers
 * did is told to the client that asked for it.
 */
export function judge(
  members: readonly Pick<Member, 'name' | 'durable'>[],
  log: Pick<HistoryLog, 'read'>,
  servers: readonly Event[],
  violations: Violations,
): void {
  const done = divide(servers, new Set(members.map(({ name }) => name)), violations)
  for (const { name, durable } of members) {
    const history = [...(done.get(name) ?? []), ...log.read(name)]
    const facts: Facts = {
      store: durable ? 'durable' : 'memory',
      owners: 'turns',
      // Servers write down what they do by themselves.
      ordered: false,
      lateBy: slack,
      calmWithin,
      lasting: new Set([name]),
      queues: [],
    }
    for (const found of check(history, facts))
      violations.add(`${found.checker}: ${found.kind}`, showViolation(withContext(found, history), history))
  }
}

/** Events beside the proof that are shown. */
const mostContext = 30

/** With what broke, and how its client fared, while it happened. */
function withContext(violation: Violation, history: readonly Event[]): Violation {
  const [first, last] = [Math.min(...violation.events), Math.max(...violation.events)]
  const between = history.flatMap(({ type }, index) =>
    index > first && index < last && (type === 'fault' || type === 'phase') ? [index] : [],
  )
  return { ...violation, events: [...violation.events, ...between.slice(-mostContext)] }
}

/** Whose token it is: the name of a client, a kind of call, a number. */
const tokenPattern = /^(.+)-[a-z]+-\d+$/

/** What servers did, by the clients that it was done for; nobody else is concerned by it. */
export function divide(
  servers: readonly Event[],
  names: ReadonlySet<string>,
  violations: Violations,
): Map<string, Event[]> {
  const parts = new Map<string, Event[]>()
  const users = new Map<string, string>()
  const ends: Event[] = []
  for (const event of servers) {
    if (event.type === 'ended') ends.push(event)
    if (event.type !== 'ran' && event.type !== 'emitted') continue
    const name = tokenPattern.exec(event.token ?? '')?.[1] ?? ''
    if (!names.has(name)) {
      violations.add('done, never asked for', JSON.stringify(event))
      continue
    }
    const part = parts.get(name) ?? []
    parts.set(name, part)
    part.push(event)
    if (event.session === undefined) continue
    const user = users.get(event.session) ?? name
    users.set(event.session, user)
    if (user !== name)
      violations.add('one session of two clients', `${user}, and ${name}: ${JSON.stringify(event)}`)
  }
  for (const end of ends) {
    const name = end.type === 'ended' ? users.get(end.session) : undefined
    if (name !== undefined) parts.get(name)?.push(end)
  }
  return parts
}
