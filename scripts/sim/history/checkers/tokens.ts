import type { Checker, Event, EventOf, Violation } from '../history.js'
import { eventsOf, type Placed } from '../views.js'

/**
 * Nobody is let in with what is not theirs, or no good. Clients use a refresh token once, ask for a token when
 * they need one, and a person only where it takes one.
 */
export const tokens: Checker = (history, { tokens }) => [
  ...judgeTries(history),
  ...eventsOf(history, 'betrayed').map(({ principal, program, index }) =>
    violation('used twice', `a refresh token of ${principal} was used at ${program} after its successor`, [
      index,
    ]),
  ),
  ...(tokens === undefined ? [] : judgeGrants(history, tokens)),
]

/** Unauthorized, forbidden, not there; or nobody has the time to look. */
const refusals: ReadonlySet<number> = new Set([401, 403, 404, 429, 500, 503])

function judgeTries(history: readonly Event[]): Violation[] {
  return eventsOf(history, 'tried').flatMap(({ program, server, what, status, error, index }) => {
    // once an answer has begun as a stream, a refusal is an error on it
    if (status === undefined || refusals.has(status) || error !== undefined) return []
    const kind = status < 300 ? 'let in' : 'refused as something else'
    return [violation(kind, `${server} answered ${program} with ${status}: ${what}`, [index])]
  })
}

interface Lives {
  readonly lifetime: number
  readonly refreshes: boolean
}

/** ms for which something may stay broken. */
const longest = 60_000

/** Of two grants for one client, where nothing was broken that costs a token. */
function judgeGrants(history: readonly Event[], { lifetime, refreshes }: Lives): Violation[] {
  const found: Violation[] = []
  const last = new Map<string, Placed<EventOf<'granted'>>>()
  const costs: (Costly & { readonly at: number })[] = []
  for (const [index, event] of history.entries()) {
    if (costsTokens(event)) costs.push(event)
    if (event.type !== 'granted') continue
    const { client, principal, program, grant, at } = event
    const before = last.get(client)
    last.set(client, { ...event, index })
    if (before === undefined || before.program !== program || before.principal !== principal) continue
    if (costs.some((cost) => cost.at > before.at - longest && isTouched(cost, client, before))) continue
    const proof = [before.index, index]
    const ms = Math.round(at - before.at)
    if (ms < lifetime / 2)
      found.push(violation('asked too often', `${client} got a token ${ms} ms after another`, proof))
    if (grant === 'authorization_code' && refreshes && before.grant !== 'client_credentials')
      found.push(violation('signed in again', `${principal} signed in for ${client} once more`, proof))
  }
  return found
}

type Costly = EventOf<'fault' | 'died' | 'revoked' | 'betrayed'>

function costsTokens(event: Event): event is Costly & { readonly at: number } {
  return ['fault', 'died', 'revoked', 'betrayed'].includes(event.type)
}

/** Whether it may have cost a client its token. */
function isTouched(event: Costly, client: string, { principal, program }: EventOf<'granted'>): boolean {
  if (event.type === 'revoked' || event.type === 'betrayed') return event.principal === principal
  if (event.type === 'died') return event.program === client || event.program === program
  if (event.verb === 'jump') return true
  return event.target.split('>').some((name) => name === client || name === program)
}

function violation(kind: string, message: string, events: readonly number[]): Violation {
  return { checker: 'tokens', kind, message, events }
}
