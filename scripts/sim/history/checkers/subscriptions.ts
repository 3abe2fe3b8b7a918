import type { Checker, Event, EventOf, Violation } from '../history.js'
import { type CallView, eventsOf, type Placed, viewCalls } from '../views.js'

/** Who has subscribed to a resource is told of its change, however often the connection was another one since. */
export const subscriptions: Checker = (history, { toldWithin }) => {
  if (toldWithin === undefined) return []
  const asked = subscriptionCalls(history)
  const changes = eventsOf(history, 'changed')
  return changes.flatMap((change) =>
    change.clients.flatMap((client) => {
      // who has not heard of it is told of the next one
      if (changes.some((later) => later.index > change.index && isFor(later, change, client))) return []
      const proof = subscribedBy(asked.get(keyOf(client, change.uri)) ?? [], change)
      if (proof === undefined || isTold(history, client, change, toldWithin)) return []
      return [violation(client, change, proof)]
    }),
  )
}

function isFor(later: EventOf<'changed'>, { uri }: EventOf<'changed'>, client: string): boolean {
  return later.uri === uri && later.clients.includes(client)
}

/** Calls that subscribe and unsubscribe, by client and resource. */
function subscriptionCalls(history: readonly Event[]): ReadonlyMap<string, readonly CallView[]> {
  const calls = new Map<string, CallView[]>()
  for (const call of viewCalls(history).values()) {
    const { operation, client, uri } = call.invoke
    if (uri === undefined || (operation !== 'subscribe' && operation !== 'unsubscribe')) continue
    const key = keyOf(client, uri)
    calls.set(key, [...(calls.get(key) ?? []), call])
  }
  return calls
}

/** The events by which a client has subscribed, and nothing that ends later has taken that back, perhaps. */
function subscribedBy(calls: readonly CallView[], { index }: Placed<EventOf<'changed'>>) {
  for (const call of calls) {
    const [end] = call.ends
    if (call.invoke.operation !== 'subscribe' || end?.type !== 'ok' || end.index > index) continue
    if (call.died < index) continue
    if (calls.some((other) => mayTakeBack(other, call.invoke.index, index))) continue
    return [call.invoke.index, end.index]
  }
  return undefined
}

function mayTakeBack({ invoke, ends }: CallView, since: number, until: number): boolean {
  if (invoke.index > until) return false
  const [end] = ends
  if (end !== undefined && end.index < since) return false
  return invoke.operation === 'unsubscribe' || end?.type !== 'ok'
}

function isTold(
  history: readonly Event[],
  client: string,
  { uri, at, index }: Placed<EventOf<'changed'>>,
  within: number,
): boolean {
  for (const event of history.slice(index + 1)) {
    if (event.at > at + within) return false
    if (event.type !== 'received' || event.kind !== 'updated') continue
    if (event.client === client && event.payload === uri) return true
  }
  return false
}

function keyOf(client: string, uri: string): string {
  return JSON.stringify([client, uri])
}

function violation(
  client: string,
  { uri, program, index }: Placed<EventOf<'changed'>>,
  proof: readonly number[],
): Violation {
  const message = `${client} has subscribed to ${uri} of ${program}, and was not told of its change`
  return { checker: 'subscriptions', kind: 'not told', message, events: [...proof, index] }
}
