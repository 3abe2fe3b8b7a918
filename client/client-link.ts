import { encode } from '../protocol/codec.js'
import type { Message } from '../protocol/jsonrpc.js'
import type { Registry } from '../runtime/registry.js'
import type { linkActor, Ticket } from '../transports/link-actor.js'

/** Reaches the transport's actor by its name. */
type LinkRef = ReturnType<typeof Registry.prototype.named<typeof linkActor>>

/** The client's side of its transport: which connection is the current one, and what is sent on it. */
export class ClientLink {
  readonly #ref: LinkRef
  #last = 0
  #current: number | undefined

  constructor(registry: Registry, transport: string) {
    this.#ref = registry.named<typeof linkActor>(transport)
  }

  /** Whether there is a connection, or one on its way. */
  get held(): boolean {
    return this.#current !== undefined
  }

  /** Asks for a new connection. */
  open(): void {
    this.#last += 1
    this.#current = this.#last
    this.#ref.cast('open', { link: this.#last })
  }

  /** Whether news of this number are about the current connection. */
  is(link: number): boolean {
    return link === this.#current
  }

  /** Forgets the current connection: it is over. */
  forget(): void {
    this.#current = undefined
  }

  /** Sends a message on the current connection, if there is one. */
  tell(message: Message): void {
    this.send(encode(message), message)
  }

  /** Sends an encoded message; the ticket says whether it left. */
  send(text: string, message: Message, ticket?: Ticket): void {
    const link = this.#current
    if (link === undefined) return
    this.#ref.cast('send', ticket === undefined ? { link, text, message } : { link, text, message, ticket })
  }

  negotiated(revision: string): void {
    if (this.#current !== undefined) this.#ref.cast('negotiated', { link: this.#current, revision })
  }

  /** Asks the transport to end the current connection; it stays the current one until it is forgotten. */
  close(): void {
    if (this.#current !== undefined) this.#ref.cast('close', { link: this.#current })
  }
}
