import { createHmac } from 'node:crypto'
import type { World } from '../../runtime/time/world.js'
import { isSame } from './browser.js'

const secretBytes = 32
/** Characters of what shows that a token was made here: 16 bytes. */
const sealLength = 22

/** Of which chain of renewals a refresh token is, and how often that was renewed before. */
export interface RefreshId {
  readonly chain: string
  readonly rotations: number
}

/**
 * Refresh tokens say of which chain they are, and which one of it. Nobody else can make one, and whoever has one
 * cannot make the next: that depends on the chain alone, so all who renew at once get the same.
 */
export class RefreshIds {
  readonly #key: string
  readonly #world: Pick<World, 'randomBytes'>

  constructor(key: string, world: Pick<World, 'randomBytes'>) {
    this.#key = key
    this.#world = world
  }

  newChain(): string {
    return this.#world.randomBytes(secretBytes).toString('base64url')
  }

  make({ chain, rotations }: RefreshId): string {
    const said = `${chain}.${rotations.toString(36)}`
    return `${said}.${this.#sealOf(said)}`
  }

  /** Undefined for one that was made up. */
  read(token: string): RefreshId | undefined {
    const [, said = '', chain = '', rotations = '', seal = ''] =
      /^(([\w-]+)\.([\da-z]+))\.([\w-]+)$/.exec(token) ?? []
    if (!isSame(seal, this.#sealOf(said))) return undefined
    return { chain, rotations: Number.parseInt(rotations, 36) }
  }

  #sealOf(said: string): string {
    const mac = createHmac('sha256', this.#key).update(`caduceus refresh token ${said}`)
    return mac.digest('base64url').slice(0, sealLength)
  }
}
