import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'

/** Bytes of the requests of one client that may wait. */
const maxOfOne = 64 * 1024 * 1024
/** Bytes of all that wait in one server. */
const maxOfAll = 256 * 1024 * 1024
/** Bytes that a request takes besides its params, about. */
const least = 1024

/** The bytes of all requests of a server that wait for their turn, be it in a session or without one. */
export interface WaitingBytes {
  bytes: number
}

/** What one client has waiting. */
interface Place<Item> {
  readonly items: Map<Item, number>
  bytes: number
}

/**
 * Requests that wait for their turn: those of one client in the order they came, and clients by turns.
 * Bounded for each client, and in all.
 */
export class WaitingLine<Item> {
  readonly #max: number
  readonly #all: WaitingBytes
  /** The client whose turn it is comes first. */
  readonly #places = new Map<string, Place<Item>>()
  #size = 0

  /** `max` requests of each client at most; `all` is what all lines of a server share. */
  constructor(max: number, all: WaitingBytes) {
    this.#max = max
    this.#all = all
  }

  get size(): number {
    return this.#size
  }

  /** Puts a request at the end of its client's; false when there is no room. */
  add(item: Item, { params }: JsonRpcRequest, client = ''): boolean {
    const place = this.#places.get(client) ?? { items: new Map(), bytes: 0 }
    // as it came it is gone, and it is only written out where it has to wait
    const bytes = least + (params === undefined ? 0 : JSON.stringify(params).length)
    const fitsHere = place.items.size === 0 || place.bytes + bytes <= maxOfOne
    const fits = fitsHere && this.#all.bytes + bytes <= maxOfAll
    if (!fits || place.items.size >= this.#max) return false
    place.items.set(item, bytes)
    this.#places.set(client, place)
    this.#count(place, bytes)
    this.#size += 1
    return true
  }

  /** Whose turn it is; undefined when nobody waits. */
  take(): Item | undefined {
    for (const [client, place] of this.#places) {
      for (const item of place.items.keys()) {
        this.delete(item, client)
        if (this.#places.delete(client)) this.#places.set(client, place)
        return item
      }
    }
    return undefined
  }

  /** It waits no more; false when it did not. */
  delete(item: Item, client = ''): boolean {
    const place = this.#places.get(client)
    const bytes = place?.items.get(item)
    if (place === undefined || bytes === undefined) return false
    place.items.delete(item)
    this.#count(place, -bytes)
    this.#size -= 1
    if (place.items.size === 0) this.#places.delete(client)
    return true
  }

  /** Nobody waits any more. */
  clear(): void {
    for (const { bytes } of this.#places.values()) this.#all.bytes -= bytes
    this.#places.clear()
    this.#size = 0
  }

  #count(place: Place<Item>, bytes: number): void {
    place.bytes += bytes
    this.#all.bytes += bytes
  }
}
