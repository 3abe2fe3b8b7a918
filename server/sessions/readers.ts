import { encode } from '../../protocol/wire/codec.js'
import { buildNotification, type JsonRpcNotification } from '../../protocol/wire/jsonrpc.js'
import { TurnoverSet } from '../../runtime/base/turnover.js'
import { over, type Sink } from '../../transports/contract/contract.js'
import { encodedText } from '../../transports/base/encoded.js'
import { noteNotification, type SessionOrigin } from '../base/events.js'
import type { Catalog } from '../catalog/catalog.js'
import type { ListKind } from '../context/changes.js'

/** Readers of one session at once; one more ends the oldest. */
const maxReaders = 16

const nothing: readonly string[] = Object.freeze([])

const changed: Readonly<Record<ListKind, JsonRpcNotification>> = Object.freeze({
  tools: withText(buildNotification('notifications/tools/list_changed')),
  resources: withText(buildNotification('notifications/resources/list_changed')),
  prompts: withText(buildNotification('notifications/prompts/list_changed')),
})

/** Readers of messages that belong to no request, such as GET streams; each message goes to one of them. */
export class SessionReaders {
  /** Newest last. */
  #all: readonly Sink[] = []
  /** The version of the catalog that the client was notified of. */
  #told: number
  /** Resources with a change to notify the client of; at most as many as it has subscriptions. */
  readonly #updated = new TurnoverSet<string>()
  readonly #origin: SessionOrigin

  /** `told` is the version of the catalog that the client was notified of. */
  constructor(told: number, origin: SessionOrigin) {
    this.#told = told
    this.#origin = origin
  }

  get size(): number {
    return this.#all.length
  }

  get told(): number {
    return this.#told
  }

  attach(reader: Sink): void {
    const former = this.#all
    this.#all = former.slice(former.length < maxReaders ? 0 : 1).concat(reader)
    if (former.length >= maxReaders) former[0]?.end?.(over(false))
  }

  detach(reader: Sink): void {
    this.#all = this.#all.filter((other) => other !== reader)
  }

  /** Tells each list that has changed, once; a client without a reader is told when it has one. */
  tellCatalog(catalog: Pick<Catalog, 'version' | 'changedSince'>): void {
    if (this.#told === catalog.version) return
    const lists = catalog.changedSince(this.#told)
    if (lists.every((list) => this.#send(changed[list]))) this.#told = catalog.version
  }

  /** It is unknown what the client was notified of: each list may have changed since. */
  forgetTold(): void {
    this.#told = Number.MAX_SAFE_INTEGER
  }

  /** Resources with a change to notify the client of. */
  get owed(): readonly string[] {
    return this.#updated.size === 0 ? nothing : [...this.#updated]
  }

  noteUpdated(uri: string): void {
    this.#updated.add(uri)
  }

  /** Tells each resource that has changed, like `tellCatalog`, if its client may hear of it. */
  tellUpdated(mayHear: (uri: string) => boolean): void {
    for (const uri of this.#updated) {
      if (mayHear(uri) && !this.#send(buildNotification('notifications/resources/updated', { uri }))) return
      this.#updated.delete(uri)
    }
  }

  /** Tells what may be lost; false when nobody reads. */
  tell(message: JsonRpcNotification): boolean {
    return this.#send(message)
  }

  /** Forgets changes of resources that the client has unsubscribed from. */
  prune(isWanted: (uri: string) => boolean): void {
    for (const uri of this.#updated) if (!isWanted(uri)) this.#updated.delete(uri)
  }

  /** `goesOn`: the session continues, on another node or in another process. */
  end(goesOn = false): void {
    const all = this.#all
    this.#all = []
    for (const reader of all) reader.end?.(over(goesOn))
  }

  #send(message: JsonRpcNotification): boolean {
    const sent = this.#all.toReversed().some((reader) => reader.send(message))
    if (sent) noteNotification(this.#origin, 'sent', message.method)
    return sent
  }
}

function withText(message: JsonRpcNotification): JsonRpcNotification {
  return Object.freeze({ ...message, [encodedText]: encode(message) })
}
