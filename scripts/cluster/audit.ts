import { check, showViolation } from '../sim/history/check.js'
import type { CallFail, Event, Facts, Invoke, Violation } from '../sim/history/history.js'
import { callTimeout, slack } from '../soak/calls.js'
import { divide } from '../soak/judge.js'
import type { Violations } from '../soak/violations.js'
import type { ClusterFault } from './faults.js'
import type { Place } from './plan.js'

/** A fault that there was, by the time of the run; it is over once all nodes serve again. */
export interface Episode {
  readonly fault: ClusterFault
  readonly from: number
  to: number
}

/** Milliseconds after a fault in which its effects may still be heard of. */
const echoes = 3_000
/** Milliseconds after the last fault in which the calls that it disturbed are settled. */
const calmWithin = callTimeout + slack

/** What takes ten times as long as it should is no fault of the machine any more. */
const slowest = 0.1

/** Judges what happened, one client after the other: hours of all would not fit in memory. */
export function audit(
  places: readonly Place[],
  read: (client: string) => readonly Event[],
  servers: readonly Event[],
  episodes: readonly Episode[],
  faultsEnded: number,
  /** What programs of the run got of the machine: all is as much later as they had too little. */
  pace: number,
  violations: Violations,
): void {
  const slower = 1 / Math.max(slowest, pace)
  const done = divide(servers, new Set(places.map(({ name }) => name)), violations)
  for (const { name, kind } of places) {
    const own = done.get(name) ?? []
    const said = read(name)
    judgeFailures(name, said, episodes, echoes * slower, violations)
    const history = [...own, ...merge(said, faultsOf(name, episodes, faultsEnded))]
    // official clients forget progress that comes in one piece with the answer
    const lossy =
      kind === 'ours' ? [] : own.flatMap((event) => (event.type === 'emitted' ? [event.stream] : []))
    const facts: Facts = {
      store: 'durable',
      owners: 'turns',
      // nodes write down what they do by themselves
      ordered: false,
      lateBy: slack * slower,
      calmWithin: calmWithin * slower,
      lasting: new Set([name]),
      lossyStreams: new Set(lossy),
      queues: [],
    }
    for (const found of check(history, facts))
      violations.add(`${found.checker}: ${found.kind}`, showViolation(withContext(found, history), history))
  }
}

/** Milliseconds before the proof of which faults are shown. */
const contextBefore = 3_000

/** With what broke, and how its client fared, while it happened: nodes write no times. */
function withContext(violation: Violation, history: readonly Event[]): Violation {
  const times = violation.events.flatMap((index) => history[index]?.at || [])
  const [from, to] = [Math.min(...times) - contextBefore, Math.max(...times)]
  const around = history.flatMap(({ type, at }, index) =>
    at >= from && at <= to && (type === 'fault' || type === 'phase') ? [index] : [],
  )
  return { ...violation, events: [...violation.events, ...around] }
}

/** What the checkers have to know: who may have to begin anew, and why. */
function faultsOf(client: string, episodes: readonly Episode[], faultsEnded: number): Event[] {
  const faults = episodes.flatMap(({ fault: { name, verb, costs }, from, to }): Event[] => {
    const target = costs === 'sessions' ? client : 'cluster'
    return [
      { type: 'fault', verb, target, detail: name, at: from },
      { type: 'fault', verb: 'heal', target, detail: name, at: to },
    ]
  })
  return [...faults, { type: 'faultsEnded', at: faultsEnded }]
}

function merge(some: readonly Event[], others: readonly Event[]): Event[] {
  return [...some, ...others].sort((a, b) => a.at - b.at)
}

/** A call that failed has to have been made while something was broken that may cost that. */
function judgeFailures(
  client: string,
  events: readonly Event[],
  episodes: readonly Episode[],
  echo: number,
  violations: Violations,
): void {
  const calls = new Map<string, Invoke & { readonly at: number }>()
  // a session that was lost meanwhile is missed at the next call
  let servedAt = Number.NEGATIVE_INFINITY
  for (const event of events) {
    if (event.type === 'invoke') calls.set(event.call, event)
    if (event.type === 'ok') servedAt = event.at
    if (event.type !== 'fail') continue
    const invoke = calls.get(event.call)
    if (invoke === undefined || isMeant(invoke.token, event)) continue
    const near = episodes.filter(({ from, to }) => from <= event.at && invoke.at <= to + echo)
    const costs = new Set(near.map(({ fault }) => fault.costs))
    const isSession = event.code === 'SESSION_NOT_FOUND'
    const isMissed = ({ fault, from, to }: Episode): boolean =>
      fault.costs === 'sessions' && from <= event.at && servedAt <= to + echo
    if (isSession && episodes.some(isMissed)) continue
    if (costs.has('sessions') || (costs.has('calls') && !isSession)) continue
    const around = near.map(({ fault }) => fault.name).join(', ') || 'nothing'
    violations.add(
      isSession ? 'session not found' : 'failed without need',
      `${client}: ${invoke.token}, from ${Math.round(invoke.at)} to ${Math.round(event.at)} ms, while ${around} was broken: ${event.code} ${event.message}`,
    )
  }
}

/** Given up by its caller, or never answered. */
function isMeant(token: string, { code }: CallFail): boolean {
  return (
    (token.includes('-abort-') && code === 'CANCELLED') || (token.includes('-timeout-') && code === 'TIMEOUT')
  )
}
