import type { Checker, Event, Invoke, Violation } from '../history.js'
import { type CallView, eventsOf, nameCall, ownerOf, type Placed, viewCalls, viewRuns } from '../views.js'

/** Nothing of one session, principal or client ever reaches another. */
export const isolation: Checker = (history) => {
  const calls = [...viewCalls(history).values()]
  const byToken = new Map(calls.map((call) => [call.invoke.token, call]))
  return [
    ...judgeRuns(history, byToken),
    ...judgeAnswers(calls, byToken),
    ...judgeArrivals(history, calls, byToken),
    ...judgePrincipals(history),
  ]
}

type ByToken = ReadonlyMap<string, CallView>

/** A handler runs as who asked for it, in a session that is nobody else's. */
function judgeRuns(history: readonly Event[], byToken: ByToken): Violation[] {
  const found: Violation[] = []
  // who opened it, or, where that is not told, who used it first
  const principals = new Map(
    eventsOf(history, 'opened').flatMap(({ session, principal, index }) =>
      principal === undefined ? [] : [[session, { principal, index }] as const],
    ),
  )
  const users = new Map<string, Placed<Invoke>>()
  for (const { ran } of viewRuns(history)) {
    const call = byToken.get(ran.token)
    if (call === undefined) continue
    const { invoke } = call
    const name = nameCall(invoke)
    if (ran.principal !== invoke.principal)
      found.push(
        violation('ran as another principal', `${name}: ${ran.principal}, not ${invoke.principal}`, [
          invoke.index,
          ran.index,
        ]),
      )
    if (ran.session === undefined) continue
    const { principal, index } = ran
    const opened = principals.get(ran.session)
    if (opened === undefined && principal !== undefined) principals.set(ran.session, { principal, index })
    if (opened !== undefined && opened.principal !== ran.principal)
      found.push(
        violation(
          'ran in the session of another principal',
          `${name}: session ${ran.session} is of ${opened.principal}, not of ${ran.principal}`,
          [opened.index, ran.index],
        ),
      )
    const user = users.get(ran.session)
    users.set(ran.session, user ?? invoke)
    if (user !== undefined && ownerOf(user) !== ownerOf(invoke))
      found.push(
        violation('one session of two clients', `${nameCall(user)} and ${name} ran in ${ran.session}`, [
          user.index,
          invoke.index,
          ran.index,
        ]),
      )
  }
  return found
}

/** An answer, and the list that it tells, are of the caller. */
function judgeAnswers(calls: readonly CallView[], byToken: ByToken): Violation[] {
  const found: Violation[] = []
  // Answers that say whose they are.
  const own = new Map(
    calls.map(({ invoke }) => {
      const { token, expected } = invoke
      return [expected?.includes(token) ? expected : token, invoke]
    }),
  )
  const lists = new Map<string, Placed<Invoke>>()
  for (const { invoke, ends } of calls)
    for (const end of ends) {
      if (end.type !== 'ok') continue
      const name = nameCall(invoke)
      const other = end.value === undefined ? undefined : own.get(end.value)
      if (other !== undefined && other.call !== invoke.call)
        found.push(
          violation('answer of another call', `${name} has the answer of ${nameCall(other)}`, [
            other.index,
            invoke.index,
            end.index,
          ]),
        )
      if (end.list !== undefined) {
        const user = lists.get(end.list)
        lists.set(end.list, user ?? invoke)
        if (user !== undefined && isForeign(user, invoke))
          found.push(
            violation(
              'list of another session',
              `${name} has list ${end.list}, which ${nameCall(user)} has`,
              [user.index, invoke.index, end.index],
            ),
          )
      }
      for (const element of end.elements ?? []) {
        const source = byToken.get(element)
        if (source !== undefined && isForeign(source.invoke, invoke))
          found.push(
            violation(
              'element of another session',
              `${name} sees ${element}, which ${nameCall(source.invoke)} appended`,
              [source.invoke.index, end.index],
            ),
          )
      }
    }
  return found
}

/** What a client is told is of its own calls and session, or something that it asked to be told of. */
function judgeArrivals(history: readonly Event[], calls: readonly CallView[], byToken: ByToken): Violation[] {
  const found: Violation[] = []
  const byCall = new Map(calls.map(({ invoke }) => [invoke.call, invoke]))
  const owners = new Map(calls.map(({ invoke }) => [invoke.client, ownerOf(invoke)]))
  const sessions = new Map<string, string>()
  for (const { ran } of viewRuns(history)) {
    const call = byToken.get(ran.token)
    if (call !== undefined && ran.session !== undefined) sessions.set(ran.session, ownerOf(call.invoke))
  }
  const emitted = new Map(eventsOf(history, 'emitted').map((event) => [event.payload, event]))
  const wishes = new Set<string>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'invoke' && event.operation === 'subscribe' && event.uri !== undefined)
      wishes.add(JSON.stringify([event.client, event.uri]))
    if (event.type !== 'received') continue
    const { client, kind, payload, call, broadcast } = event
    if (broadcast) {
      if (kind === 'updated' && !wishes.has(JSON.stringify([client, payload])))
        found.push(
          violation('told unasked', `${client} was told of ${payload}, to which it never subscribed`, [
            index,
          ]),
        )
      continue
    }
    const origin = emitted.get(payload)
    if (origin === undefined) continue
    const source = origin.token === undefined ? undefined : byToken.get(origin.token)?.invoke
    const reader = owners.get(client) ?? client
    const writer = source === undefined ? sessions.get(origin.session ?? '') : ownerOf(source)
    if (writer !== undefined && writer !== reader)
      found.push(
        violation('event of another client', `${client} was told ${kind} ${payload} of ${writer}`, [
          origin.index,
          index,
        ]),
      )
    const asked = call === undefined ? undefined : byCall.get(call)
    if (asked !== undefined && source !== undefined && asked.call !== source.call)
      found.push(
        violation('event of another call', `${nameCall(asked)} was told ${payload} of ${nameCall(source)}`, [
          origin.index,
          index,
        ]),
      )
  }
  return found
}

/** A session is of who opened it, wherever it is continued. */
function judgePrincipals(history: readonly Event[]): Violation[] {
  const opened = new Map(eventsOf(history, 'opened').map((event) => [event.session, event]))
  return eventsOf(history, 'restored').flatMap(({ session, principal, index }) => {
    const first = opened.get(session)
    if (first === undefined || first.principal === principal) return []
    const message = `session ${session} of ${first.principal} is continued for ${principal}`
    return [violation('session of another principal', message, [first.index, index])]
  })
}

function isForeign(one: Invoke, other: Invoke): boolean {
  return ownerOf(one) !== ownerOf(other) || one.principal !== other.principal
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'isolation', kind, message, events }
}
