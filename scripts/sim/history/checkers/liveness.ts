import type { Checker, Event, Facts, Violation } from '../history.js'
import { type CallView, eventsOf, nameCall, viewCalls } from '../views.js'

/** Once nothing breaks any more, everybody is ready, every call settled and every queue empty within a bound. */
export const liveness: Checker = (history, facts) => {
  const ended = history.findIndex(({ type }) => type === 'faultsEnded')
  const end = history[ended]
  if (end === undefined) return []
  const whole: Whole = { index: ended, at: end.at, calm: end.at + facts.calmWithin }
  return [
    ...judgeClients(history, whole, facts),
    ...[...viewCalls(history).values()].flatMap((call) => judgeCall(call, whole, facts)),
    ...judgeQueues(history, whole, facts),
  ]
}

/** When the faults ended, and when all has to be calm. */
interface Whole {
  readonly index: number
  readonly at: number
  readonly calm: number
}

interface Standing {
  readonly phase: string
  readonly program: string
  readonly index: number
}

function judgeClients(history: readonly Event[], whole: Whole, { clients, doomed }: Facts): Violation[] {
  const found: Violation[] = []
  const standings = new Map<string, Standing>()
  let judged = false
  const judgeAll = (): void => {
    judged = true
    for (const client of clients ?? [...standings.keys()]) {
      const standing = standings.get(client)
      if (standing?.phase === 'ready' || standing?.phase === 'closed' || doomed?.has(client)) continue
      const proof = standing === undefined ? [whole.index] : [whole.index, standing.index]
      found.push(
        violation('not ready', `${client} is ${standing?.phase ?? 'not there'} when all was whole`, proof),
      )
    }
  }
  for (const [index, event] of history.entries()) {
    if (!judged && event.at > whole.calm) judgeAll()
    if (event.type === 'died')
      for (const [client, { program }] of standings) if (program === event.program) standings.delete(client)
    if (event.type !== 'phase') continue
    const { client, phase, program } = event
    const before = standings.get(client)
    standings.set(client, { phase, program, index })
    if (judged && phase !== 'ready' && phase !== 'closed' && before?.phase === 'ready')
      found.push(
        violation('lost its way', `${client} is ${phase}, and nothing broke`, [
          whole.index,
          before.index,
          index,
        ]),
      )
    if (index > whole.index && phase === 'closed' && before !== undefined && before.phase !== 'ready')
      if (!doomed?.has(client))
        found.push(
          violation('not ready', `${client} was closed while it was ${before.phase}`, [before.index, index]),
        )
  }
  if (!judged) judgeAll()
  return found
}

function judgeCall({ invoke, ends, cancel, died }: CallView, whole: Whole, facts: Facts): Violation[] {
  const [end] = ends
  const name = nameCall(invoke)
  if (died !== Number.POSITIVE_INFINITY || facts.doomed?.has(invoke.client)) return []
  if (invoke.operation === 'hang' || invoke.operation === 'other') return []
  if (end === undefined || end.index < whole.index) return []
  const took = end.at - Math.max(whole.at, invoke.at)
  const found: Violation[] = []
  if (took > facts.calmWithin)
    found.push(
      violation('settled late', `${name} was settled ${took} ms after all was whole`, [
        whole.index,
        invoke.index,
        end.index,
      ]),
    )
  if (end.type === 'fail' && invoke.at > whole.calm && cancel === undefined)
    found.push(
      violation('failed', `${name}: ${end.code}, and nothing broke`, [whole.index, invoke.index, end.index]),
    )
  return found
}

function judgeQueues(history: readonly Event[], whole: Whole, { queues }: Facts): Violation[] {
  if (queues.length === 0) return []
  const found: Violation[] = []
  const calm = eventsOf(history, 'census').filter(({ when, index }) => when === 'calm' && index > whole.index)
  for (const { program, counts, index } of calm)
    for (const name of queues) {
      const count = counts[name] ?? 0
      if (count > 0)
        found.push(violation('queue not empty', `${program} has ${count} ${name}`, [whole.index, index]))
    }
  if (calm.length === 0)
    found.push(violation('not counted', 'nobody counted what waits when all was calm', [whole.index]))
  return found
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'liveness', kind, message, events }
}
