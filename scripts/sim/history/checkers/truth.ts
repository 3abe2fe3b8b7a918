import type { Checker, Event, Facts, Violation } from '../history.js'
import { type CallView, nameCall, viewCalls, viewRuns } from '../views.js'

/** What callers were told of their calls is what servers did. */
export const truth: Checker = (history, facts) => {
  const calls = viewCalls(history)
  return [
    ...[...calls.values()].flatMap((call) => judgeCall(call, facts)),
    ...judgeStrangers(history, new Set([...calls.values()].map(({ invoke }) => invoke.token))),
  ]
}

function judgeCall(call: CallView, { ordered }: Facts): Violation[] {
  const { invoke, ends, runs } = call
  const found: Violation[] = []
  const name = nameCall(invoke)
  const ran = runs.map((run) => run.ran.index)
  for (const end of ends) {
    const proof = [invoke.index, ...ran, end.index]
    if (end.type === 'fail') {
      if (!end.sent && ran.length > 0)
        found.push(violation('ran, though told unsent', `${name}: ${end.code} with sent: false`, proof))
      continue
    }
    if (invoke.noted && ran.length === 0)
      found.push(violation('answered, not run', `${name} succeeded, and no handler ran`, proof))
    if (invoke.expected !== undefined && end.value !== invoke.expected)
      found.push(
        violation(
          'wrong answer',
          `${name}: ${show(end.value)} where ${show(invoke.expected)} was due`,
          proof,
        ),
      )
    if (isUnfounded(call, end.value))
      found.push(violation('answer of no run', `${name}: ${show(end.value)}, which no run of it gave`, proof))
  }
  if (invoke.most !== undefined && runs.length > invoke.most)
    found.push(
      violation('ran too often', `${name} ran ${runs.length} times, ${invoke.most} at most were allowed`, [
        invoke.index,
        ...ran,
      ]),
    )
  for (const { ran } of runs) {
    if (ran.operation !== invoke.operation)
      found.push(
        violation('ran as another operation', `${name} ran as ${ran.operation}`, [invoke.index, ran.index]),
      )
    if (ordered && ran.index < invoke.index)
      found.push(violation('ran before it was made', name, [ran.index, invoke.index]))
  }
  return found
}

/** Whether all runs have ended, and none with this value. */
function isUnfounded({ runs }: CallView, value: string | undefined): boolean {
  if (runs.length === 0 || value === undefined) return false
  const values = runs.map(({ to }) => (to === undefined || to.end === 'ok' ? to?.value : null))
  return values.every((given) => given !== undefined && given !== value)
}

function judgeStrangers(history: readonly Event[], tokens: ReadonlySet<string>): Violation[] {
  return viewRuns(history).flatMap(({ ran }) =>
    tokens.has(ran.token)
      ? []
      : [violation('ran, never asked for', `${ran.program} ran ${ran.operation} ${ran.token}`, [ran.index])],
  )
}

function show(value: string | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'truth', kind, message, events }
}
