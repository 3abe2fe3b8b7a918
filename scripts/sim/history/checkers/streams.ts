import type { Checker, Emitted, Event, Facts, Received, Violation } from '../history.js'
import { type CallView, eventsOf, nameCall, type Placed, viewCalls } from '../views.js'

/**
 * What arrives of a stream is what was sent on it, in its order, once, and without a gap: also where the
 * stream was taken up again. A stream may break off; where its call succeeded, or where `facts` want it whole,
 * it may not.
 */
export const streams: Checker = (history, facts) => {
  const emitted = new Map(eventsOf(history, 'emitted').map((event) => [event.payload, event]))
  const arrivals = eventsOf(history, 'received').filter(({ broadcast }) => !broadcast)
  return [
    ...judgeOrigins(arrivals, emitted, facts),
    ...judgeOrder(arrivals, emitted),
    ...judgeGaps(arrivals, emitted, history, facts),
  ]
}

type Emissions = ReadonlyMap<string, Placed<Emitted>>

function judgeOrigins(arrivals: readonly Placed<Received>[], emitted: Emissions, facts: Facts): Violation[] {
  const found: Violation[] = []
  const before = new Map<string, number>()
  for (const { client, payload, kind, index } of arrivals) {
    const origin = emitted.get(payload)
    if (origin === undefined) {
      found.push(
        violation('from nowhere', `${client} was told ${kind} ${payload}, which nobody sent`, [index]),
      )
      continue
    }
    if (origin.kind !== kind)
      found.push(
        violation('as another kind', `${client} was told ${origin.kind} ${payload} as ${kind}`, [
          origin.index,
          index,
        ]),
      )
    if (facts.ordered && index < origin.index)
      found.push(violation('before it was sent', `${client}: ${payload}`, [index, origin.index]))
    const key = JSON.stringify([client, payload])
    const first = before.get(key)
    if (first === undefined) before.set(key, index)
    else
      found.push(
        violation('repeat', `${client} was told ${kind} ${payload} twice`, [origin.index, first, index]),
      )
  }
  return found
}

function judgeOrder(arrivals: readonly Placed<Received>[], emitted: Emissions): Violation[] {
  const found: Violation[] = []
  const latest = new Map<string, Placed<Emitted>>()
  for (const { client, payload, index } of arrivals) {
    const origin = emitted.get(payload)
    if (origin === undefined) continue
    // Handlers of progress and of logs are told in ways of their own: each is in order.
    const key = JSON.stringify([client, origin.stream, origin.kind])
    const last = latest.get(key)
    if (last !== undefined && origin.sequence < last.sequence)
      found.push(
        violation(
          'disorder',
          `${client} was told ${payload} (${origin.sequence} of ${origin.stream}) after ${last.payload} (${last.sequence})`,
          [origin.index, last.index, index],
        ),
      )
    else latest.set(key, origin)
  }
  return found
}

function judgeGaps(
  arrivals: readonly Placed<Received>[],
  emitted: Emissions,
  history: readonly Event[],
  facts: Facts,
): Violation[] {
  const found: Violation[] = []
  const arrived = new Map<string, number>()
  const furthest = new Map<string, { sequence: number; index: number }>()
  // progress ends with its call, and the logs of its stream go on
  const furthestInCall: typeof furthest = new Map()
  const due = new DueEvents(history, facts)
  for (const { payload, index } of arrivals) {
    const origin = emitted.get(payload)
    if (origin === undefined) continue
    arrived.set(payload, index)
    for (const map of due.isOver(origin, index) ? [furthest] : [furthest, furthestInCall]) {
      const last = map.get(origin.stream)
      if (last === undefined || origin.sequence > last.sequence)
        map.set(origin.stream, { sequence: origin.sequence, index })
    }
  }
  for (const origin of emitted.values()) {
    const { stream, payload, sequence, kind } = origin
    if (arrived.has(payload) || facts.lossyStreams?.has(stream) || due.isUnheard(origin)) continue
    const last = (kind === 'progress' ? furthestInCall : furthest).get(stream)
    const name = `${payload} (${sequence} of ${stream})`
    if (last !== undefined && last.sequence > sequence)
      found.push(
        violation('gap', `${name} never arrived, and ${last.sequence} did`, [origin.index, last.index]),
      )
    else if (facts.wholeStreams?.has(stream))
      found.push(violation('broken off', `${name} never arrived`, [origin.index]))
    else {
      const call = due.callOf(origin)
      if (call !== undefined)
        found.push(
          violation('broken off', `${name} never arrived, and ${nameCall(call.invoke)} succeeded`, [
            origin.index,
            call.ends[0]?.index ?? 0,
          ]),
        )
    }
  }
  return found
}

/** Knows which events were due before the answer of their call. */
class DueEvents {
  readonly #calls: ReadonlyMap<string, CallView>
  readonly #facts: Facts

  constructor(history: readonly Event[], facts: Facts) {
    this.#facts = facts
    this.#calls = new Map([...viewCalls(history).values()].map((call) => [call.invoke.token, call]))
  }

  /** Whether the caller has no handler of it. */
  isUnheard({ token, kind }: Emitted): boolean {
    const call = token === undefined ? undefined : this.#calls.get(token)
    return call !== undefined && this.#facts.deaf?.get(call.invoke.program)?.has(kind) === true
  }

  /** Whether its call was settled by then. */
  isOver({ token }: Emitted, index: number): boolean {
    const end = token === undefined ? undefined : this.#calls.get(token)?.ends[0]
    return end !== undefined && end.index < index
  }

  /** The call that succeeded by the one run that sent this before it ended; its caller lives to be told. */
  callOf({ token, index }: Placed<Emitted>): CallView | undefined {
    const call = token === undefined ? undefined : this.#calls.get(token)
    if (call === undefined || call.runs.length !== 1 || call.ends[0]?.type !== 'ok') return undefined
    const to = call.runs[0]?.to
    if (to !== undefined && index > to.index) return undefined
    return call.died === Number.POSITIVE_INFINITY ? call : undefined
  }
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'streams', kind, message, events }
}
