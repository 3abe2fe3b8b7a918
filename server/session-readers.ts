import { encode } from '../protocol/codec.js'
import { buildNotification, type JsonRpcNotification } from '../protocol/jsonrpc.js'
import type { Outlet } from '../transports/contract.js'
import { encodedText } from '../transports/encoded.js'

/** Readers of one session at once; one more, and the oldest is let go. */
const maxReaders = 16

const toolsChanged = withText(buildNotification('notifications/tools/list_changed'))

/** Who reads what belongs to no request, such as GET streams; each message goes to one of them (specification: transports). */
export class SessionReaders {
  /** Newest last. */
  #all: Outlet[] = []
  /** The number of the catalog that the client was told of. */
  #told: number

  constructor(told: number) {
    this.#told = told
  }

  get size(): number {
    return this.#all.length
  }

  get told(): number {
    return this.#told
  }

  attach(reader: Outlet): void {
    this.#all.push(reader)
    if (this.#all.length > maxReaders) this.#all.shift()?.end?.()
  }

  detach(reader: Outlet): void {
    this.#all = this.#all.filter((other) => other !== reader)
  }

  /** Once, if there is news; a client without a reader is told when it has one. */
  tellCatalog(version: number): void {
    if (this.#told === version) return
    if (this.#all.toReversed().some((reader) => reader.send(toolsChanged))) this.#told = version
  }

  end(): void {
    const all = this.#all
    this.#all = []
    for (const reader of all) reader.end?.()
  }
}

function withText(message: JsonRpcNotification): JsonRpcNotification {
  return Object.freeze({ ...message, [encodedText]: encode(message) })
}
