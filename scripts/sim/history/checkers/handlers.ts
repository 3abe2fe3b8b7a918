import type { Checker, Event, Facts, Violation } from '../history.js'
import { type CallView, eventsOf, nameCall, viewCalls } from '../views.js'

/**
 * What handlers of users are promised: progress grows, and ends with its call; who gives a call up has no
 * answer of it, and waits no longer; what is over says nothing more.
 */
export const handlers: Checker = (history, facts) => {
  const calls = viewCalls(history)
  return [
    ...judgeProgress(history, calls),
    ...[...calls.values()].flatMap((call) => judgeCancel(call, facts)),
    ...judgeRuns(history, calls, facts),
    ...judgeClosed(history),
  ]
}

function judgeProgress(history: readonly Event[], calls: ReadonlyMap<string, CallView>): Violation[] {
  const found: Violation[] = []
  const furthest = new Map<string, { progress: number; index: number }>()
  for (const { call, kind, progress, index } of eventsOf(history, 'received')) {
    const view = call === undefined ? undefined : calls.get(call)
    if (kind !== 'progress' || call === undefined || view === undefined) continue
    const name = nameCall(view.invoke)
    const [end] = view.ends
    if (end !== undefined && end.index < index)
      found.push(violation('progress after the end', `${name} was settled before`, [end.index, index]))
    if (progress === undefined) continue
    const last = furthest.get(call)
    if (last !== undefined && progress <= last.progress)
      found.push(
        violation('progress does not grow', `${name}: ${progress} after ${last.progress}`, [
          last.index,
          index,
        ]),
      )
    else furthest.set(call, { progress, index })
  }
  return found
}

function judgeCancel({ invoke, ends, cancel, died }: CallView, { lateBy }: Facts): Violation[] {
  const [end] = ends
  if (cancel === undefined || (end !== undefined && end.index < cancel.index)) return []
  const name = nameCall(invoke)
  if (end === undefined)
    return died === Number.POSITIVE_INFINITY
      ? [violation('cancelled, not settled', `${name} has no outcome`, [cancel.index])]
      : []
  const took = end.at - cancel.at
  if (took <= lateBy) return []
  const kind = end.type === 'ok' ? 'answered after it was cancelled' : 'cancelled, settled late'
  return [violation(kind, `${name}: ${took} ms later`, [cancel.index, end.index])]
}

/** What ended code still does has no effect. */
function judgeRuns(
  history: readonly Event[],
  calls: ReadonlyMap<string, CallView>,
  { ordered }: Facts,
): Violation[] {
  if (!ordered) return []
  const found: Violation[] = []
  const byToken = new Map([...calls.values()].map((call) => [call.invoke.token, call]))
  for (const { token, payload, index } of eventsOf(history, 'emitted')) {
    const call = token === undefined ? undefined : byToken.get(token)
    const ends = call?.runs.map(({ to }) => to?.index ?? Number.POSITIVE_INFINITY) ?? []
    if (call === undefined || ends.length === 0 || ends.some((end) => end > index)) continue
    found.push(
      violation('told after its end', `${payload} of ${nameCall(call.invoke)}`, [Math.max(...ends), index]),
    )
  }
  return found
}

/** Who is closed is told nothing, and does not come back. */
function judgeClosed(history: readonly Event[]): Violation[] {
  const found: Violation[] = []
  const closed = new Map<string, { index: number; program: string }>()
  for (const [index, event] of history.entries()) {
    // A program that begins again has other clients of the same names.
    if (event.type === 'started')
      for (const [client, { program }] of closed) if (program === event.program) closed.delete(client)
    if (event.type !== 'phase' && event.type !== 'received') continue
    const before = closed.get(event.client)
    if (before !== undefined && event.type === 'received')
      found.push(
        violation('told after it was closed', `${event.client}: ${event.payload}`, [before.index, index]),
      )
    if (event.type !== 'phase') continue
    if (before !== undefined)
      found.push(
        violation('came back after it was closed', `${event.client} is ${event.phase}`, [
          before.index,
          index,
        ]),
      )
    else if (event.phase === 'closed') closed.set(event.client, { index, program: event.program })
  }
  return found
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'handlers', kind, message, events }
}
