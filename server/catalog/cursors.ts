import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { World } from '../../runtime/time/world.js'
import { Sealing } from '../base/sealing.js'

/** The last component of a page: its place among all that have ever been in the list, and its key. */
interface Position {
  readonly place: number
  readonly key: string
}

/** Characters of a cursor: a key may be a long uri. */
const maxLength = 128 * 1024

/**
 * Writes and reads cursors: only this server, and programs with its keys, can make and read them
 * (AES-256-GCM).
 */
export class Cursors {
  readonly #sealing: Sealing
  readonly #server: string
  /** Tells the cursors of this program: places of another mean something else. */
  readonly #epoch: string
  readonly #world: World

  /** `secrets`: shared by the programs behind one address. Default: a random one for this program. */
  constructor(server: string, world: World, secrets: unknown = [world.randomBytes(32)]) {
    this.#server = server
    this.#world = world
    this.#epoch = world.randomBytes(6).toString('base64url')
    this.#sealing = new Sealing(secrets, { purpose: 'caduceus cursors', field: 'requestStateKeys' })
  }

  write(list: string, { place, key }: Position): string {
    const plain = Buffer.from(JSON.stringify([this.#epoch, place, key]))
    return this.#sealing.seal(plain, this.#about(list), this.#world)
  }

  /**
   * The position; `isOurs` if this program wrote it. Throws McpError -32602 for a cursor of another list or
   * server.
   */
  read(list: string, cursor: string): Position & { readonly isOurs: boolean } {
    const plain = cursor.length > maxLength ? undefined : this.#sealing.open(cursor, this.#about(list))
    if (plain === undefined)
      throw new McpError(errorCodes.invalidParams, 'params.cursor: expected a nextCursor of this list')
    const [epoch, place, key] = JSON.parse(plain.toString())
    return { place, key, isOurs: epoch === this.#epoch }
  }

  #about(list: string): string {
    return `${list} ${this.#server}`
  }
}
