import { TransportError } from '../base/errors.js'
import { type Pauses, tryInTurn } from '../base/turns.js'
import type { Values } from '../contract/values.js'

/** One of several values of one owner. */
interface KeptAmong {
  /** Where the keys of all of them are. */
  readonly list: string
  readonly key: string
  /** Asked as late as can be. */
  readonly text: () => string
  /** Milliseconds that it is kept. */
  readonly ttl: number
  /** Milliseconds that the longest of them is kept. */
  readonly longest: number
  readonly most: number
}

/**
 * Keeps a value: its owner has so many at most, and the oldest makes room. Rejects with CLUSTER_UNAVAILABLE where
 * others of the owner are kept again and again.
 */
export async function keepAmong(
  values: Values,
  world: Pauses,
  { list, key, text, ttl, longest, most }: KeptAmong,
): Promise<void> {
  let gone: readonly string[] = []
  // first: what is in no list would never make room
  const isListed = await tryInTurn(world, async () => {
    const was = await values.get(list)
    const known = was === undefined || was.text === '' ? [] : (JSON.parse(was.text) as string[])
    const all = [...known.filter((one) => one !== key), key]
    gone = all.slice(0, -most)
    return values.set(list, JSON.stringify(all.slice(-most)), { ttl: longest, was })
  })
  const set = async (place: string, next: () => string | undefined): Promise<boolean> =>
    tryInTurn(world, async () => values.set(place, next(), { ttl, was: await values.get(place) }))
  // those that are in the list still are somebody's
  if (isListed) for (const one of gone) await set(one, () => undefined)
  if (isListed && (await set(key, text))) return
  const problem = 'what one user has is changed by others again and again'
  throw new TransportError('CLUSTER_UNAVAILABLE', problem, { retryable: true })
}
