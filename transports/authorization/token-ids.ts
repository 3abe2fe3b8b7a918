import { createHash, createHmac } from 'node:crypto'
import type { World } from '../../runtime/time/world.js'
import { isSame } from './browser.js'

const secretBytes = 32
/** Characters of what shows that a token was made here, and of what tells chains of one grant apart: 16 bytes. */
const sealLength = 22

/** Of which chain of renewals a refresh token is, and how often that was renewed before. */
export interface RefreshId {
  readonly chain: string
  readonly rotations: number
}

/** What tells access tokens of one renewal apart. */
interface AccessKind {
  /** The same for a while, at most half of the time that it is good; one more in the next while. */
  readonly at: number
  /** Whether it is for all that the refresh token is for, and for no key of its own. */
  readonly isPlain: boolean
  readonly scope?: string | undefined
  /** Of the key that it is bound to. */
  readonly jkt?: string | undefined
}

/**
 * Refresh tokens say of which chain they are, and which one of it; so do the access tokens of a renewal. Nobody
 * else can make one, and whoever has one cannot make the next: it depends on the chain alone, so all who renew at
 * once get the same.
 */
export class TokenIds {
  readonly #key: string
  readonly #world: Pick<World, 'randomBytes'>

  constructor(key: string, world: Pick<World, 'randomBytes'>) {
    this.#key = key
    this.#world = world
  }

  newChain(): string {
    return this.#world.randomBytes(secretBytes).toString('base64url')
  }

  refreshToken({ chain, rotations }: RefreshId): string {
    const said = `${chain}.${rotations.toString(36)}`
    return `${said}.${this.#sealOf(said)}`
  }

  /** Undefined for a refresh token that was made up. */
  read(token: string): RefreshId | undefined {
    const [, said = '', chain = '', rotations = '', seal = ''] =
      /^(([\w-]+)\.([\da-z]+))\.([\w-]+)$/.exec(token) ?? []
    if (!isSame(seal, this.#sealOf(said))) return undefined
    return { chain, rotations: Number.parseInt(rotations, 36) }
  }

  /** The one that comes with this refresh token and is like that. */
  accessToken({ chain, rotations }: RefreshId, { at, isPlain, scope = '', jkt = '' }: AccessKind): string {
    const own = createHash('sha256').update(chain).digest('base64url').slice(0, sealLength)
    const said = `${own}.${rotations.toString(36)}.${at.toString(36)}.${isPlain ? 'p' : 'o'}`
    const kind = JSON.stringify([jkt, scope.split(' ').sort()])
    return `${said}.${this.#macOf(`access token ${chain} ${said} ${kind}`)}`
  }

  #sealOf(said: string): string {
    return this.#macOf(`refresh token ${said}`).slice(0, sealLength)
  }

  #macOf(text: string): string {
    return createHmac('sha256', this.#key).update(`caduceus ${text}`).digest('base64url')
  }
}

/** Access tokens of one renewal that are for less, or for keys of their own. */
const mostOfRenewal = 32

/**
 * Which access tokens of a grant make room for another one, of those that were given, oldest first: `most` stay.
 * Whoever has a refresh token pushes out none that was given with it to its owner, nor those of other chains.
 */
export function makingRoom(given: readonly string[], next: string, most: number): readonly string[] {
  const { chain, renewal, at, isPlain } = groupsOf(next)
  const alike = renewal === undefined ? [] : given.filter((one) => groupsOf(one).renewal === renewal)
  // the others have ended
  const live = alike.filter((one) => groupsOf(one).at > at - 3)
  const others = isPlain ? [] : live.filter((one) => !groupsOf(one).isPlain)
  const gone = [
    ...alike.filter((one) => !live.includes(one)),
    ...others.slice(0, Math.max(0, others.length + 1 - mostOfRenewal)),
  ]
  const left = given.filter((one) => !gone.includes(one))
  if (left.length < most) return gone
  const own = left.find((one) => chain !== undefined && groupsOf(one).chain === chain && !live.includes(one))
  return [...gone, own ?? left[0] ?? '']
}

/** Of which chain, and renewal, an access token is; of neither, where it came with a code. */
function groupsOf(token: string): {
  readonly chain?: string | undefined
  readonly renewal?: string | undefined
  readonly at: number
  readonly isPlain: boolean
} {
  const [, renewal, chain, at = '0', kind] = /^(([\w-]+)\.[\da-z]+)\.([\da-z]+)\.([po])\./.exec(token) ?? []
  return { chain, renewal, at: Number.parseInt(at, 36), isPlain: kind === 'p' }
}
