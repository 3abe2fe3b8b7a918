import { createHash } from 'node:crypto'
import { isObject } from '../../protocol/wire/json.js'
import type { World } from '../../runtime/time/world.js'
import type { SeenProof } from '../auth/dpop.js'
import { TransportError } from '../base/errors.js'
import { tryInTurn } from '../base/turns.js'
import type { KeptValue, Values } from '../contract/values.js'

/** Proofs that one value has; one user has one value for each number that fits into a byte. */
const mostOfValue = 64
/** Characters that tell one proof from another. */
const idLength = 22

/** Until when the proofs of one value would be good, in ms since 1970, by their ids. */
type Used = Readonly<Record<string, number>>

/**
 * Says whether a proof was used before, at any node; it is now. However many one user sends, they are kept in 256
 * values, for 64 each: rejects with CLIENT_LIMIT where there is no room for another.
 */
export async function wasUsed(
  values: Values,
  world: World,
  { id, lifetime, principal: { issuer, subject } }: SeenProof,
): Promise<boolean> {
  const [part = 0] = createHash('sha256').update(id).digest()
  const place = `proofs ${JSON.stringify([issuer, subject, part])}`
  const own = id.slice(0, idLength)
  let isUsed = false
  const isKept = await tryInTurn(world, async () => {
    const was = await values.get(place)
    const now = world.date()
    const good = Object.entries(usedIn(was)).filter(([, until]) => until > now)
    isUsed = good.some(([one]) => one === own)
    if (isUsed) return true
    if (good.length >= mostOfValue) throw tooMany()
    const all = Object.fromEntries([...good, [own, now + lifetime]])
    // of those that are kept none ends later than the last of them
    const ttl = Math.max(...Object.values(all)) - now
    return values.set(place, JSON.stringify(all), { ttl, was })
  })
  if (isKept) return isUsed
  const problem = 'proofs of one user come faster than they can be kept'
  throw new TransportError('CLUSTER_UNAVAILABLE', problem, { retryable: true })
}

function usedIn(kept: KeptValue | undefined): Used {
  if (kept === undefined || kept.text === '') return {}
  const used: unknown = JSON.parse(kept.text)
  return isObject(used) ? (used as Used) : {}
}

function tooMany(): TransportError {
  const problem = 'one user has sent more proofs of keys (DPoP) in two minutes than are kept'
  return new TransportError('CLIENT_LIMIT', problem, { retryable: true })
}
