import type { AuthSettings } from '../../auth/options.js'
import { challengeOf, lackingIn } from '../../auth/scopes.js'
import type { Peer } from '../../contract/contract.js'
import { HttpRefusal } from '../listen/refusal.js'

/** Characters of all scopes in a challenge: clients have limits for headers. */
const maxScopes = 2_000

/**
 * Tells a client which scopes to ask for, where a request was refused for want of one: all that the request
 * takes, and those that its token has, since a client of 2025-11-25 asks for what the challenge says and for
 * nothing else (specification: authorization, step-up).
 */
export function withChallenge(
  refusal: HttpRefusal,
  { principal }: Peer,
  auth: AuthSettings | undefined,
): HttpRefusal {
  const lacking = lackingIn(refusal.body)
  if (lacking === undefined || refusal.status !== 403) return refusal
  const scopes = limited(new Set([...(auth?.scopes ?? []), ...lacking, ...(principal?.scopes ?? [])]))
  const description = 'the token lacks a scope that this request takes'
  const challenge = challengeOf({ error: 'insufficient_scope', description, scopes }, auth)
  return new HttpRefusal(403, refusal.body, { ...refusal.headers, 'www-authenticate': challenge })
}

/** What is needed stands first. */
function limited(scopes: ReadonlySet<string>): readonly string[] {
  let room = maxScopes
  return [...scopes].filter((scope) => {
    room -= scope.length + 1
    return room >= 0 && scope !== 'offline_access'
  })
}
