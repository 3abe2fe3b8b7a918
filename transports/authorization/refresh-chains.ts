import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { World } from '../../runtime/time/world.js'
import { tryInTurn } from '../base/turns.js'
import type { KeptValue, Values } from '../contract/values.js'
import { chainsKey, endGrant, grantKey, isGone, type KeptErrors, put, whileThere } from './adapter.js'
import { longestGrant } from './grants.js'
import type { RefreshIds } from './refresh-ids.js'

/**
 * Milliseconds in which the token before the current one is good, too: a host with several calls at once renews
 * for each of them, and one whose answer was lost tries again. RFC 9700, section 4.14.2, leaves room for that.
 */
export const overlap = 30_000
/** Chains of one grant: the one that was renewed the longest time ago makes room. */
const mostChains = 128

/** All that is kept of the refresh tokens that followed one another from one code on. */
interface RefreshChain {
  /** The current one, without its id. */
  readonly payload: AdapterPayload
  /** When it became that, in ms since 1970. */
  readonly since: number
  /** When the one before it was made, in s since 1970. */
  readonly before: number
}

interface ChainsInput extends KeptErrors {
  readonly values: Values
  readonly world: World
  readonly ids: RefreshIds
  /** Begins what is done last of a renewal: what fails before it can be tried again with the same token. */
  readonly atLast: (renew: () => Promise<void>) => void
}

/**
 * The refresh tokens that `oidc-provider` makes, one record for each chain. The current token is good. The one
 * before it is for a while, and leads to the same next one. Any other was used before: thief or owner, the
 * grant ends.
 */
export class RefreshChains implements Adapter {
  readonly #input: ChainsInput

  constructor(input: ChainsInput) {
    this.#input = input
  }

  /** The first token of a chain, or the next one. */
  upsert(token: string, payload: AdapterPayload, expiresIn = 0): Promise<void> {
    return whileThere(this.#input, async () => {
      const { nonce: chain = '', rotations = 0, jti: _, ...kept } = payload
      const next = { ...kept, nonce: chain, rotations } as AdapterPayload
      const ttl = expiresIn * 1_000
      if (rotations === 0) return this.#begin(chain, next, ttl)
      this.#input.atLast(() => whileThere(this.#input, () => this.#goOn(chain, next, ttl)))
    })
  }

  async #begin(chain: string, payload: AdapterPayload, ttl: number): Promise<void> {
    const { values, world, usedAlready, unavailable } = this.#input
    const { grantId = '', iat = 0 } = payload
    await put(values, world, keyOf(chain), write({ payload, since: world.date(), before: iat }), ttl)
    const isListed = await this.#makeRoom(grantId, chain)
    // who ends the grant meanwhile has not seen it in the list
    const isOver = (await values.get(grantKey(grantId))) === undefined
    if (isListed && !isOver) return
    await put(values, world, keyOf(chain), undefined, 1)
    if (!isOver) throw unavailable()
    await put(values, world, chainsKey(grantId), undefined, 1)
    throw usedAlready()
  }

  /** False: others begin chains of the grant again and again. */
  async #makeRoom(grantId: string, chain: string): Promise<boolean> {
    const { values, world } = this.#input
    const key = chainsKey(grantId)
    let gone: readonly string[] = []
    const isListed = await tryInTurn(world, async () => {
      const was = await values.get(key)
      const known = isGone(was) ? [] : (JSON.parse(was.text) as string[])
      const stay = known.length < mostChains ? known : await this.#lastRenewed(known)
      gone = known.filter((one) => !stay.includes(one))
      return values.set(key, JSON.stringify([...stay, chain]), { ttl: longestGrant, was })
    })
    // of what is good no more nothing is to be noticed
    if (isListed) for (const one of gone) await put(values, world, keyOf(one), undefined, 1)
    return isListed
  }

  async #lastRenewed(chains: readonly string[]): Promise<readonly string[]> {
    const found = await Promise.all(
      chains.map(async (chain) => ({
        chain,
        since: read(await this.#input.values.get(keyOf(chain)))?.since,
      })),
    )
    const there = found.filter(({ since }) => since !== undefined)
    if (there.length < mostChains) return there.map(({ chain }) => chain)
    const oldest = there.reduce((one, other) => ((other.since ?? 0) < (one.since ?? 0) ? other : one))
    return there.filter((one) => one !== oldest).map(({ chain }) => chain)
  }

  /** Of all that renew at once one does: the others find the token that they have made already there. */
  async #goOn(chain: string, payload: AdapterPayload, ttl: number): Promise<void> {
    const { values, world, usedAlready, unavailable } = this.#input
    const { rotations = 0 } = payload
    const isKept = await tryInTurn(world, async () => {
      const was = await values.get(keyOf(chain))
      const { payload: current } = read(was) ?? {}
      // its grant has ended, or it took so long that others went on twice
      if (current === undefined || rotationsOf(current) > rotations) throw usedAlready()
      if (rotationsOf(current) === rotations) return true
      const next = { payload, since: world.date(), before: current.iat ?? 0 }
      return values.set(keyOf(chain), write(next), { ttl, was })
    })
    if (!isKept) throw unavailable()
  }

  /** `consumed` is that of a token that was used up, as the library expects it. */
  find(token: string): Promise<AdapterPayload | undefined> {
    const { values, world, ids } = this.#input
    return whileThere(this.#input, async () => {
      const id = ids.read(token)
      const found = id && read(await values.get(keyOf(id.chain)))
      if (id === undefined || found === undefined) return undefined
      const { payload, since, before } = found
      if (isGone(await values.get(grantKey(payload.grantId ?? '')))) return undefined
      const { rotations } = id
      const asked = { ...payload, rotations, jti: token }
      const age = rotationsOf(payload) - rotations
      // below 0: an engine that was set up anew has lost what it knew last
      if (age <= 0) return asked
      if (age === 1 && world.date() < since + overlap) return { ...asked, iat: before }
      return { ...asked, consumed: Math.floor(since / 1_000) }
    })
  }

  /** It is used up by the next one alone. */
  async consume(): Promise<void> {}

  /** It ends with its grant: until then whoever tries again finds that it was used. */
  async destroy(): Promise<void> {}

  async findByUid(): Promise<undefined> {
    return undefined
  }

  async findByUserCode(): Promise<undefined> {
    return undefined
  }

  revokeByGrantId(grantId: string): Promise<void> {
    const { values, world } = this.#input
    return whileThere(this.#input, () => endGrant(values, world, grantId))
  }
}

function rotationsOf({ rotations = 0 }: AdapterPayload): number {
  return rotations as number
}

function keyOf(chain: string): string {
  return `RefreshToken ${chain}`
}

function write(chain: RefreshChain): string {
  return JSON.stringify(chain)
}

function read(kept: KeptValue | undefined): RefreshChain | undefined {
  return isGone(kept) ? undefined : (JSON.parse(kept.text) as RefreshChain)
}
