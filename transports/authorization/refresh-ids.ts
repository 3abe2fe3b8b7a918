import { createHmac } from 'node:crypto'
import type { World } from '../../runtime/time/world.js'
import { isSame } from './browser.js'

const secretBytes = 32
/** Characters of what shows that an id was made here: 16 bytes. */
const sealLength = 22

/**
 * Ids of refresh tokens, which say of which grant they are, and until when: one that comes back without a record
 * was used before, however many came after it (RFC 9700, section 4.14.2). Nobody else can make one.
 */
export class RefreshIds {
  readonly #key: string
  readonly #world: Pick<World, 'date' | 'randomBytes'>

  constructor(key: string, world: Pick<World, 'date' | 'randomBytes'>) {
    this.#key = key
    this.#world = world
  }

  /** `lifetime` in s. */
  make(grantId: string, lifetime: number): string {
    const secret = this.#world.randomBytes(secretBytes).toString('base64url')
    const until = Math.floor(this.#world.date() / 1_000) + lifetime
    const said = `${secret}.${grantId}.${until.toString(36)}`
    return `${said}.${this.#sealOf(said)}`
  }

  /** Undefined for one that was made up, or is not good any more. */
  grantOf(id: string): string | undefined {
    const [, said = '', grantId, until = '', seal = ''] =
      /^([\w-]+\.([\w-]+)\.([\da-z]+))\.([\w-]+)$/.exec(id) ?? []
    if (!isSame(seal, this.#sealOf(said))) return undefined
    return Number.parseInt(until, 36) * 1_000 > this.#world.date() ? grantId : undefined
  }

  #sealOf(said: string): string {
    const mac = createHmac('sha256', this.#key).update(`caduceus refresh token ${said}`)
    return mac.digest('base64url').slice(0, sealLength)
  }
}
