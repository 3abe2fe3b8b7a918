import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'

/** Bytes of waiting requests of one client. */
const maxOfOne = 64 * 1024 * 1024
/** Bytes of all waiting requests of one server. */
const maxOfAll = 256 * 1024 * 1024
/** Bytes of a request besides its params, about. */
const least = 1024

export interface WaitingBytes {
  bytes: number
}

interface ClientQueue<Item> {
  readonly items: Map<Item, number>
  bytes: number
}

/**
 * Requests that wait: of one client in order, and clients take turns. Bounded for each client, and in all.
 */
export class WaitingLine<Item> {
  readonly #max: number
  readonly #all: WaitingBytes
  /** The client whose turn it is comes first. */
  #places = new TurnoverMap<string, ClientQueue<Item>>()
  #size = 0

  /** `max` requests of each client; all lines of a server share `all`. */
  constructor(max: number, all: WaitingBytes) {
    this.#max = max
    this.#all = all
  }

  get size(): number {
    return this.#size
  }

  /** One of the client whose turn it is. */
  get first(): Item | undefined {
    for (const [, { items }] of this.#places.entries()) for (const item of items.keys()) return item
    return undefined
  }

  /** Adds a request behind those of its client; false if there is no room. */
  add(item: Item, { params }: Pick<JsonRpcRequest, 'params'>, client = ''): boolean {
    const place = this.#places.get(client) ?? { items: new Map(), bytes: 0 }
    // its text is gone, and measured again only for a request that has to wait
    const bytes = least + charactersOf(params)
    const fitsHere = place.items.size === 0 || place.bytes + bytes <= maxOfOne
    const fits = fitsHere && this.#all.bytes + bytes <= maxOfAll
    if (!fits || place.items.size >= this.#max) return false
    place.items.set(item, bytes)
    this.#places.set(client, place)
    this.#count(place, bytes)
    this.#size += 1
    return true
  }

  /** The next one, of those that fit, and of the clients that may go. */
  take(
    fits: (item: Item) => boolean = () => true,
    mayGo: (client: string) => boolean = () => true,
  ): Item | undefined {
    for (const [client, place] of this.#places.entries()) {
      if (!mayGo(client)) continue
      for (const item of place.items.keys()) {
        if (!fits(item)) continue
        this.delete(item, client)
        if (this.#places.delete(client)) this.#places.set(client, place)
        return item
      }
    }
    return undefined
  }

  /** How many could go at once, where each client has room for so many. */
  countAble(roomOf: (client: string) => number): number {
    let count = 0
    for (const [client, { items }] of this.#places.entries()) count += Math.min(items.size, roomOf(client))
    return count
  }

  /** Removes a request; false if it did not wait. */
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

  clear(): void {
    for (const { bytes } of this.#places.values()) this.#all.bytes -= bytes
    this.#places = new TurnoverMap()
    this.#size = 0
  }

  #count(place: ClientQueue<Item>, bytes: number): void {
    place.bytes += bytes
    this.#all.bytes += bytes
  }
}

/** About as many as its JSON has: to write it again would take as long as to read it. */
function charactersOf(params: unknown): number {
  let count = 0
  const left: object[] = []
  const add = (value: unknown): void => {
    if (typeof value === 'string') count += value.length + 2
    else if (typeof value === 'object' && value !== null) left.push(value)
    else count += 5
  }
  add(params)
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    count += 1
    // no pairs of names and values: an array may have a quarter of a million
    if (Array.isArray(next)) {
      count += next.length
      for (const each of next) add(each)
    } else
      for (const name of Object.keys(next)) {
        count += name.length + 4
        add(Reflect.get(next, name))
      }
  }
  return count
}
