import { encode } from '../../protocol/wire/codec.js'
import type { Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { linkActor, Ticket } from '../../transports/link/actor.js'
import type { Written } from './speech.js'

/** By the name of the transport's actor. */
type LinkRef = ReturnType<typeof Registry.prototype.named<typeof linkActor>>

/** The current connection, from the client's side. */
export class ClientLink {
  readonly #ref: LinkRef
  readonly #numbers: { lastLink: number }
  #current: number | undefined

  /** `numbers` outlives the actor: the transport may still have a connection of an earlier one. */
  constructor(registry: Registry, transport: string, numbers: { lastLink: number }) {
    this.#ref = registry.named<typeof linkActor>(transport)
    this.#numbers = numbers
  }

  /** There is a connection, or one on its way. */
  get held(): boolean {
    return this.#current !== undefined
  }

  open(): void {
    const link = this.#numbers.lastLink + 1
    this.#numbers.lastLink = link
    this.#current = link
    this.#ref.cast('open', { link })
  }

  /** Whether this is the current connection. */
  is(link: number): boolean {
    return link === this.#current
  }

  forget(): void {
    this.#current = undefined
  }

  tell(message: Message): void {
    this.send({ text: encode(message), message })
  }

  /** Already written; the ticket says whether it left. */
  send({ text, message, options }: Written, ticket?: Ticket): void {
    const link = this.#current
    if (link !== undefined) this.#ref.cast('send', { link, text, message, ticket, options })
  }

  /** Closes the response that an answer would come on. */
  abort(id: RequestId): void {
    if (this.#current !== undefined) this.#ref.cast('abort', { link: this.#current, id })
  }

  negotiated(revision: string): void {
    if (this.#current !== undefined) this.#ref.cast('negotiated', { link: this.#current, revision })
  }

  /** Closes the connection, which stays the current one until it is forgotten. */
  close(): void {
    if (this.#current !== undefined) this.#ref.cast('close', { link: this.#current })
  }
}
