import type { Checker, Event, Facts, Violation } from '../history.js'
import { type CallView, nameCall, viewCalls } from '../views.js'

/** Every call is settled exactly once and in time, unless the program of its caller died. */
export const settled: Checker = (history, facts) => [
  ...judgeNames(history),
  ...[...viewCalls(history).values()].flatMap((call) => judgeCall(call, history, facts)),
]

function judgeNames(history: readonly Event[]): Violation[] {
  const found: Violation[] = []
  const calls = new Map<string, number>()
  const tokens = new Map<string, number>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'invoke') {
      const before = calls.get(event.call) ?? tokens.get(event.token)
      if (before !== undefined)
        found.push(
          violation('made twice', `${nameCall(event)} has the name of an earlier one`, [before, index]),
        )
      calls.set(event.call, index)
      tokens.set(event.token, index)
    } else if ((event.type === 'ok' || event.type === 'fail') && !calls.has(event.call))
      found.push(
        violation('outcome of no call', `${event.type} of ${event.call}, which nobody made`, [index]),
      )
  }
  return found
}

function judgeCall({ invoke, ends, died }: CallView, history: readonly Event[], facts: Facts): Violation[] {
  const found: Violation[] = []
  const [first, second] = ends
  const name = nameCall(invoke)
  if (second !== undefined)
    found.push(
      violation('settled twice', `${name}: ${first?.type}, then ${second.type}`, [
        invoke.index,
        ...ends.map(({ index }) => index),
      ]),
    )
  if (first === undefined) {
    // What was overdue when its program died was never settled either.
    const until = history[died]?.at
    if (
      until === undefined ||
      until - invoke.at - frozenMs(history, invoke.program, invoke.at, until) > invoke.timeout + facts.lateBy
    )
      found.push(violation('never settled', `${name} has no outcome`, [invoke.index]))
    return found
  }
  if (first.index > died)
    found.push(
      violation('settled after death', `${name} has an outcome after its program died`, [
        invoke.index,
        died,
        first.index,
      ]),
    )
  const after = first.at - invoke.at - invoke.timeout
  const late = after <= facts.lateBy ? after : after - frozenMs(history, invoke.program, invoke.at, first.at)
  if (late > facts.lateBy)
    found.push(
      violation('settled late', `${name}: ${late} ms after its timeout of ${invoke.timeout} ms`, [
        invoke.index,
        first.index,
      ]),
    )
  return found
}

/** How long a program was frozen between two moments: it could do nothing meanwhile. */
export function frozenMs(history: readonly Event[], program: string, from: number, to: number): number {
  let since: number | undefined
  let sum = 0
  const add = (until: number): void => {
    if (since !== undefined) sum += Math.max(0, Math.min(until, to) - Math.max(since, from))
    since = undefined
  }
  for (const event of history) {
    if (event.type !== 'fault' || event.target !== program) continue
    if (event.verb === 'freeze') since ??= event.at
    if (event.verb === 'thaw' || event.verb === 'kill') add(event.at)
  }
  add(to)
  return sum
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'settled', kind, message, events }
}
