import { randomBytes } from 'node:crypto'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { Sealing } from '../base/sealing.js'

/**
 * Where a page of a list ended: after a component, by its place among all that have ever been there, and by
 * its key.
 */
export interface Position {
  readonly place: number
  readonly key: string
}

/** Characters; a key may be a long uri. */
const maxLength = 128 * 1024

/**
 * Writes where a list goes on as a text that only this server, and those with its keys, can make and read
 * (AES-256-GCM).
 */
export class Cursors {
  readonly #sealing: Sealing
  readonly #server: string
  /** Places mean the same only in this program. */
  readonly #epoch = randomBytes(6).toString('base64url')

  /**
   * `secrets` are shared by the programs behind one address; without them a random one, which ends with this
   * program.
   */
  constructor(server: string, secrets: unknown = [randomBytes(32)]) {
    this.#server = server
    this.#sealing = new Sealing(secrets, { purpose: 'caduceus cursors', field: 'requestStateKeys' })
  }

  write(list: string, { place, key }: Position): string {
    return this.#sealing.seal(Buffer.from(JSON.stringify([this.#epoch, place, key])), this.#about(list))
  }

  /**
   * Where this list goes on; `isOurs` says whether the place was counted here. Throws McpError -32602 for a
   * cursor of another list or server, or of nobody.
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
