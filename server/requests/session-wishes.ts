import { McpError } from '../../protocol/wire/errors.js'
import { isWantedLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import { type ServerError, tooManyRequests } from '../base/errors.js'
import { maxUriLength } from '../catalog/catalog.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { boundOf } from '../engine/refusal.js'
import type { WishesRecord } from '../engine/session-store.js'

/** Resources that one session may subscribe to, and characters of one address and of all. */
const maxSubscriptions = 1_000
const maxCharacters = 256 * 1024

/** Tells whoever has to know that a resource is wanted; what it returns takes that back. */
type Want = (uri: string) => (() => void) | undefined

/** The error for a subscription with which no store could save the session any more. */
export function noRoom(problem: ServerError): McpError {
  return new McpError(
    tooManyRequests,
    `the record of the session${boundOf(problem)} has no room for this subscription: unsubscribe from others first, or open another session`,
  )
}

/** What the client of a session has chosen: its log level, and the resources it has subscribed to. */
export class SessionWishes {
  #logLevel: LoggingLevel | undefined
  /** How each is taken back. */
  readonly #subscriptions = new TurnoverMap<string, (() => void) | undefined>()
  /** Of all that it has subscribed to. */
  #characters = 0

  constructor(record: WishesRecord, want: Want) {
    this.adopt(record, want)
  }

  adopt({ logLevel, subscriptions = [] }: WishesRecord, want: Want): void {
    this.#logLevel = logLevel
    const theirs = new Set(subscriptions)
    for (const uri of [...this.#subscriptions.keys()]) if (!theirs.has(uri)) this.unsubscribe(uri)
    for (const uri of theirs) if (!this.isSubscribed(uri)) this.#add(uri, want)
  }

  /** Whether somebody has to know what is wanted. */
  get areKnown(): boolean {
    return [...this.#subscriptions.values()].some((undo) => undo !== undefined)
  }

  /** Calls what `want` has returned for each subscription. The list of subscriptions stays. */
  end(): void {
    for (const [uri, undo] of this.#subscriptions.entries()) {
      this.#subscriptions.set(uri, undefined)
      undo?.()
    }
  }

  /**
   * Whether logs of this level are wanted; `info` and above until the client says (specification: logging).
   */
  wantsLog(level: LoggingLevel): boolean {
    return isWantedLevel(level, this.#logLevel ?? 'info')
  }

  setLogLevel(level: LoggingLevel): void {
    this.#logLevel = level
  }

  isSubscribed(uri: string): boolean {
    return this.#subscriptions.has(uri)
  }

  get subscriptions(): Iterable<string> {
    return this.#subscriptions.keys()
  }

  /**
   * Answers what takes it back, unless it was there. Throws McpError: 429 beyond 1,000 resources or 256 Ki
   * characters, -32602 for an address beyond 8,192.
   */
  subscribe(uri: string, want: Want): (() => void) | undefined {
    if (this.isSubscribed(uri)) return undefined
    if (uri.length > maxUriLength)
      throw McpError.invalidParams(
        `params.uri: expected ${maxUriLength} characters at most, got ${uri.length}`,
      )
    if (this.#subscriptions.size >= maxSubscriptions)
      throw new McpError(tooManyRequests, `a session may have ${maxSubscriptions} subscriptions`)
    if (this.#characters + uri.length > maxCharacters)
      throw new McpError(
        tooManyRequests,
        `the subscriptions of a session may have ${maxCharacters} characters`,
      )
    this.#add(uri, want)
    return () => this.unsubscribe(uri)
  }

  unsubscribe(uri: string): void {
    if (!this.isSubscribed(uri)) return
    const undo = this.#subscriptions.get(uri)
    this.#subscriptions.delete(uri)
    this.#characters -= uri.length
    undo?.()
  }

  #add(uri: string, want: Want): void {
    this.#subscriptions.set(uri, want(uri))
    this.#characters += uri.length
  }

  toRecord(): WishesRecord {
    return {
      ...(this.#logLevel !== undefined && { logLevel: this.#logLevel }),
      ...(this.#subscriptions.size > 0 && { subscriptions: Object.freeze([...this.subscriptions]) }),
    }
  }
}
