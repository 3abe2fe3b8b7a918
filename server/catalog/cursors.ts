import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { World } from '../../runtime/time/world.js'
import { Sealing } from '../base/sealing.js'

/** The last component of a page: its place among all that have ever been in the list, and its key. */
interface Position {
  readonly place: number
  readonly key: string
}

/** Where a list continues. */
interface OpenedCursor {
  readonly key: string
  /** Undefined if it was written by a program with which this one shares no keys. */
  readonly place: number | undefined
  /** Whether this program wrote it. */
  readonly isOurs: boolean
}

/** Characters of a cursor: a key may be a long uri. */
const maxLength = 128 * 1024

/**
 * Writes and reads cursors. A key is known to whoever was shown it, so every program that serves this server reads
 * it. A place counts what a client may not see: it is sealed once more, and read with the same keys alone.
 */
export class Cursors {
  readonly #keys: Sealing
  readonly #places: Sealing
  readonly #server: string
  /** Tells the cursors of this program: places of another mean something else. */
  readonly #epoch: string
  readonly #world: World

  /** `secrets`: shared by the programs behind one address. Default: none, and a random one for places. */
  constructor(server: string, world: World, secrets?: unknown) {
    this.#server = server
    this.#world = world
    this.#epoch = world.randomBytes(6).toString('base64url')
    const use = { purpose: 'caduceus cursors', field: 'keys' }
    this.#keys = new Sealing(secrets ?? [`no secret, for cursors of ${server}`.padEnd(32)], use)
    this.#places = new Sealing(secrets ?? [world.randomBytes(32)], { ...use, purpose: 'caduceus places' })
  }

  write(list: string, { place, key }: Position): string {
    const about = this.#about(list)
    const counted = this.#places.seal(bytesOf([this.#epoch, place]), about, this.#world)
    return this.#keys.seal(bytesOf([key, counted]), about, this.#world)
  }

  /** Throws McpError -32602 for a cursor of another list or server. */
  read(list: string, cursor: string): OpenedCursor {
    const about = this.#about(list)
    const opened = cursor.length > maxLength ? undefined : this.#keys.open(cursor, about)
    const [key, counted] = readPair(opened)
    if (typeof key !== 'string' || typeof counted !== 'string') throw badCursor()
    const [epoch, place] = readPair(this.#places.open(counted, about))
    return { key, place: typeof place === 'number' ? place : undefined, isOurs: epoch === this.#epoch }
  }

  #about(list: string): string {
    return `${list} ${this.#server}`
  }
}

/** The refusal of a cursor that nothing can continue from: its client begins the list again. */
export function badCursor(): McpError {
  return new McpError(errorCodes.invalidParams, 'params.cursor: expected a nextCursor of this list')
}

function bytesOf(pair: readonly [string, string | number]): Buffer {
  return Buffer.from(JSON.stringify(pair))
}

/** Nothing for what anybody may have written. */
function readPair(bytes: Buffer | undefined): readonly unknown[] {
  if (bytes === undefined) return []
  try {
    const pair: unknown = JSON.parse(bytes.toString())
    return Array.isArray(pair) ? pair : []
  } catch {
    return []
  }
}
