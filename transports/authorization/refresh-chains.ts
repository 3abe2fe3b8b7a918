import type { Adapter, AdapterPayload } from 'oidc-provider'
import { tryInTurn } from '../base/turns.js'
import type { KeptValue } from '../contract/values.js'
import { type AdapterInput, chainsKey, endGrant, grantKey, isGone, put, whileThere } from './adapter.js'
import { longestGrant } from './grants.js'
import type { TokenIds } from './token-ids.js'

/**
 * Milliseconds in which the token before the current one is good, too: a host with several calls at once renews
 * for each of them, and one whose answer was lost tries again. RFC 9700, section 4.14.2, leaves room for that.
 */
export const overlap = 30_000
/** Milliseconds before a token is renewed: longer, as the clocks of nodes differ by 10 s. */
export const shortestUse = overlap + 10_000
/** Chains of one grant: the one that was renewed the longest time ago makes room. */
const mostChains = 128

/** All that is kept of the refresh tokens that followed one another from one code on. */
interface RefreshChain {
  /** The current one, without its id. */
  readonly payload: AdapterPayload
  /** When it became that, in ms since 1970. */
  readonly since: number
}

interface ChainsInput extends AdapterInput {
  readonly ids: TokenIds
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
    const { grantId = '' } = payload
    await put(values, world, keyOf(chain), write({ payload, since: world.date() }), ttl)
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
      chains.map(async (chain) => {
        const kept = await this.#input.values.get(keyOf(chain))
        // one that cannot be read is there: this node has not got all keys yet
        return { chain, since: kept?.text === '' ? Number.POSITIVE_INFINITY : read(kept)?.since }
      }),
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
      return values.set(keyOf(chain), write({ payload, since: world.date() }), { ttl, was })
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
      const { payload, since } = found
      if (isGone(await values.get(grantKey(payload.grantId ?? '')))) return undefined
      const { rotations } = id
      const asked = { ...payload, rotations, jti: token, iat: Math.ceil(since / 1_000) }
      const age = rotationsOf(payload) - rotations
      // below 0: an engine that was set up anew has lost what it knew last
      if (age <= 0) return asked
      // as old as can be: whoever comes with it is given the next one
      if (age === 1 && world.date() < since + overlap) return { ...asked, iat: 0 }
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
