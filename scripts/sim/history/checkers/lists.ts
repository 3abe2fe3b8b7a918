import type { Checker, Event, Facts, Violation } from '../history.js'
import { type CallView, nameCall, ownerOf, viewCalls } from '../views.js'

/**
 * The list of each session is one list: what was acknowledged is in it, once and for good, and all that was
 * read of it are beginnings of it, in an order that real time allows.
 *
 * An order of appends and reads is right if each can have happened at one moment between its begin and its
 * end, and these moments stand in that order. With appends the list itself is the order, so this needs one
 * pass: nothing may have ended before something that stands before it has begun.
 */
export const lists: Checker = (history, facts) => {
  const calls = [...viewCalls(history).values()]
  const appends = new Map(
    calls.filter(({ invoke }) => invoke.operation === 'append').map((call) => [call.invoke.token, call]),
  )
  const looks = collectLooks(history, calls, memoriesOf(history, facts))
  const longest = new Map([...looks].map(([list, of]) => [list, findLongest(of)]))
  return [
    ...[...looks].flatMap(([list, of]) => judgeList(list, of, appends, calls)),
    ...judgePlaces(longest, appends),
    ...judgeLosses(history, calls, facts),
  ]
}

/** Somebody saw what a list held, at some moment between two events. */
interface Look {
  readonly who: string
  readonly elements: readonly string[]
  readonly from: number
  readonly to: number
  /** What it added itself. */
  readonly token: string | undefined
}

/** A look or an append in its place in the order. */
interface Step {
  readonly what: string
  readonly from: number
  readonly to: number
  readonly isLook: boolean
}

/**
 * Which memory a program has at an event: where nothing outlives it, another one begins with each start, and
 * with each restart of what holds it.
 */
type MemoryAt = (program: string, index: number) => number

function memoriesOf(history: readonly Event[], { store, ordered }: Facts): MemoryAt {
  if (store === 'durable' || !ordered) return () => 0
  const starts = new Map<string, number[]>()
  for (const [index, event] of history.entries())
    if (event.type === 'started' || (event.type === 'restarted' && event.child === 'holdings'))
      starts.set(event.program, [...(starts.get(event.program) ?? []), index])
  return (program, index) => {
    const begun = starts.get(program)?.findLastIndex((start) => start < index) ?? 0
    return Math.max(0, begun)
  }
}

function collectLooks(
  history: readonly Event[],
  calls: readonly CallView[],
  memoryAt: MemoryAt,
): Map<string, Look[]> {
  const looks = new Map<string, Look[]>()
  const add = (name: string, memory: number, look: Look): void => {
    const list = memory === 0 ? name : `${name} (memory ${memory})`
    const others = looks.get(list)
    if (others === undefined) looks.set(list, [look])
    else others.push(look)
  }
  for (const { invoke, ends, runs } of calls)
    for (const end of ends) {
      if (end.type !== 'ok' || end.list === undefined || end.elements === undefined) continue
      const ran = runs.findLast((run) => run.ran.index < end.index)?.ran
      const memory = ran === undefined ? 0 : memoryAt(ran.program, ran.index)
      const token = invoke.operation === 'append' ? invoke.token : undefined
      add(end.list, memory, {
        who: nameCall(invoke),
        elements: end.elements,
        from: invoke.index,
        to: end.index,
        token,
      })
    }
  // What is told of the session itself belongs to its list, where lists have the names of sessions.
  for (const [index, event] of history.entries()) {
    if (event.type === 'restored' && event.elements !== undefined)
      add(event.session, memoryAt(event.program, index), {
        who: `session ${event.session} in ${event.program}`,
        elements: event.elements,
        from: index,
        to: index,
        token: undefined,
      })
    // It was so by then, and may have changed again.
    if (event.type === 'saved')
      add(event.session, memoryAt(event.program, index), {
        who: `what ${event.program} saved of ${event.session}`,
        elements: event.elements,
        from: Number.NEGATIVE_INFINITY,
        to: index,
        token: undefined,
      })
  }
  return looks
}

function findLongest(looks: readonly Look[]): readonly string[] {
  return looks.reduce<readonly string[]>(
    (longest, { elements }) => (elements.length > longest.length ? elements : longest),
    [],
  )
}

function judgeList(
  list: string,
  looks: readonly Look[],
  appends: ReadonlyMap<string, CallView>,
  calls: readonly CallView[],
): Violation[] {
  const order = findLongest(looks)
  const whole = looks.find(({ elements }) => elements === order)
  const found: Violation[] = []
  const straight: Look[] = []
  for (const look of looks) {
    const at = look.elements.findIndex((element, i) => element !== order[i])
    if (at < 0) straight.push(look)
    else
      found.push(
        violation(
          'fork',
          `list ${list}: ${look.who} saw ${look.elements[at]} at ${at}, ${whole?.who} saw ${order[at]}`,
          places(look, whole),
        ),
      )
    if (look.token !== undefined && !look.elements.includes(look.token))
      found.push(
        violation('append without effect', `list ${list}: ${look.who} is not in its own answer`, [
          look.from,
          look.to,
        ]),
      )
  }
  // A fork makes any order wrong: what comes of it says nothing more.
  if (found.length > 0) return found
  return [
    ...judgeElements(list, order, appends, whole),
    ...judgeOrder(list, steps(order, straight, appends)),
    ...judgeUnseen(list, order, straight, calls),
  ]
}

function judgeElements(
  list: string,
  order: readonly string[],
  appends: ReadonlyMap<string, CallView>,
  whole: Look | undefined,
): Violation[] {
  const found: Violation[] = []
  const counts = new Map<string, number>()
  for (const element of order) counts.set(element, (counts.get(element) ?? 0) + 1)
  for (const [element, count] of counts) {
    const call = appends.get(element)
    if (call === undefined) {
      found.push(
        violation('element of nobody', `list ${list}: nobody appended ${element}`, places(undefined, whole)),
      )
      continue
    }
    const { invoke, ends } = call
    const proof = [invoke.index, ...ends.map(({ index }) => index), ...places(undefined, whole)]
    const name = nameCall(invoke)
    if (count > (invoke.most ?? Number.POSITIVE_INFINITY))
      found.push(violation('appended too often', `list ${list} has ${count} times ${name}`, proof))
    if (ends.some((end) => end.type === 'fail' && !end.sent))
      found.push(
        violation('appended, though told unsent', `list ${list} has ${name}, told as sent: false`, proof),
      )
  }
  return found
}

/** All that happened to a list, in the order that the list gives it: an append, then who saw it as the last. */
function steps(
  order: readonly string[],
  looks: readonly Look[],
  appends: ReadonlyMap<string, CallView>,
): Step[][] {
  const byLength = new Map<number, Look[]>()
  for (const look of looks)
    byLength.set(look.elements.length, [...(byLength.get(look.elements.length) ?? []), look])
  const seen = new Set<string>()
  const groups: Step[][] = []
  for (let length = 0; length <= order.length; length++) {
    const element = order[length - 1]
    const call = element === undefined ? undefined : appends.get(element)
    if (element !== undefined && call !== undefined && !seen.has(element)) {
      seen.add(element)
      // Whoever runs twice may be there once more, at any time: only the first place is bound.
      const [end] = call.ends
      groups.push([
        {
          what: nameCall(call.invoke),
          from: call.invoke.index,
          to: end?.type === 'ok' ? end.index : Number.POSITIVE_INFINITY,
          isLook: false,
        },
      ])
    }
    groups.push(
      (byLength.get(length) ?? []).map(({ who, from, to }) => ({ what: who, from, to, isLook: true })),
    )
  }
  return groups
}

function judgeOrder(list: string, groups: readonly (readonly Step[])[]): Violation[] {
  const found: Violation[] = []
  let latest: Step | undefined
  for (const group of groups) {
    for (const step of group) {
      if (latest === undefined || step.to >= latest.from) continue
      const [kind, message] = explain(latest, step)
      found.push(violation(kind, `list ${list}: ${message}`, [step.from, step.to, latest.from, latest.to]))
    }
    // Those that saw the same stand in no order among themselves.
    for (const step of group) if (latest === undefined || step.from > latest.from) latest = step
  }
  return found
}

/** `first` stands before `then` in the list, and began after `then` had ended. */
function explain(first: Step, then: Step): [kind: string, message: string] {
  if (first.isLook && !then.isLook)
    return ['acknowledged append lost', `${first.what} does not see ${then.what}, which had succeeded before`]
  if (first.isLook) return ['went back', `${first.what} sees less than ${then.what} saw before`]
  if (then.isLook) return ['seen before it was made', `${then.what} saw ${first.what}, which came later`]
  return ['out of order', `${first.what} stands before ${then.what}, which had succeeded before it was made`]
}

/** Appends that succeeded without saying what they saw, and that somebody later did not see. */
function judgeUnseen(
  list: string,
  order: readonly string[],
  looks: readonly Look[],
  calls: readonly CallView[],
): Violation[] {
  const inside = new Set(order)
  const last = looks.reduce<Look | undefined>(
    (one, look) => (one === undefined || look.from > one.from ? look : one),
    undefined,
  )
  if (last === undefined) return []
  return calls.flatMap(({ invoke, ends }) => {
    const end = ends[0]
    if (invoke.operation !== 'append' || end?.type !== 'ok' || inside.has(invoke.token)) return []
    if (end.list !== list || end.elements !== undefined || end.index > last.from) return []
    return [
      violation(
        'acknowledged append lost',
        `list ${list}: ${last.who} does not see ${nameCall(invoke)}, which had succeeded before`,
        [invoke.index, end.index, last.from, last.to],
      ),
    ]
  })
}

/** Appends that are in two lists. */
function judgePlaces(
  longest: ReadonlyMap<string, readonly string[]>,
  appends: ReadonlyMap<string, CallView>,
): Violation[] {
  const found: Violation[] = []
  const home = new Map<string, string>()
  for (const [list, elements] of longest)
    for (const element of new Set(elements)) {
      const other = home.get(element)
      home.set(element, list)
      const call = appends.get(element)
      if (other === undefined || call === undefined || (call.invoke.most ?? 2) > 1) continue
      found.push(
        violation('in two lists', `${nameCall(call.invoke)} is in ${other} and in ${list}`, [
          call.invoke.index,
        ]),
      )
    }
  return found
}

/** Sessions that were to last, and are another one. */
function judgeLosses(history: readonly Event[], calls: readonly CallView[], facts: Facts): Violation[] {
  if (facts.store === 'memory') return []
  const over = new Map<string, number>()
  const anew = new Map<string, number[]>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'ended') over.set(event.session, index)
    const begins = event.type === 'fault' ? [event.target] : event.type === 'died' ? [event.program] : []
    for (const name of begins) anew.set(name, [...(anew.get(name) ?? []), index])
  }
  const found: Violation[] = []
  const current = new Map<string, { list: string; from: number; to: number }>()
  for (const { invoke, end } of successes(calls)) {
    const owner = ownerOf(invoke)
    if (!facts.lasting?.has(owner)) continue
    const before = current.get(owner)
    if (before === undefined || sessionOf(before.list) === sessionOf(end.list)) {
      current.set(owner, { list: end.list, from: invoke.index, to: end.index })
      continue
    }
    // One that ran beside those of the new session may be answered after them.
    if (invoke.index < before.to) continue
    current.set(owner, { list: end.list, from: invoke.index, to: end.index })
    const begun = [...(anew.get(owner) ?? []), ...(anew.get(invoke.program) ?? [])]
    if (begun.some((index) => index > before.from && index < end.index)) continue
    if ((over.get(sessionOf(before.list)) ?? Number.POSITIVE_INFINITY) < end.index) continue
    found.push(
      violation(
        'session lost',
        `${owner} has list ${end.list} where it had ${before.list}, which nothing has ended`,
        [before.from, before.to, invoke.index, end.index],
      ),
    )
  }
  return found
}

/** A session may have several lists, one after the other. */
function sessionOf(list: string): string {
  return list.split('/', 1)[0] ?? list
}

/** Calls that succeeded and told their list, in the order of their ends. */
function successes(calls: readonly CallView[]) {
  return calls
    .flatMap(({ invoke, ends }) => {
      const end = ends[0]
      return end?.type === 'ok' && end.list !== undefined ? [{ invoke, end: { ...end, list: end.list } }] : []
    })
    .sort((a, b) => a.end.index - b.end.index)
}

function places(look: Look | undefined, other: Look | undefined): number[] {
  return [look, other].flatMap((one) => (one === undefined ? [] : [one.from, one.to])).filter(Number.isFinite)
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'lists', kind, message, events: events.filter(Number.isFinite) }
}
