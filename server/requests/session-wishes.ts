import { McpError } from '../../protocol/wire/errors.js'
import { isWantedLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import { tooManyRequests } from '../base/errors.js'
import type { WishesRecord } from '../stores/session-store.js'

/** Resources that one session may subscribe to. */
const maxSubscriptions = 1_000

/** What the client of a session has chosen: its log level, and the resources it has subscribed to. */
export class SessionWishes {
  #logLevel: LoggingLevel | undefined
  #subscriptions: Set<string> = new Set()

  constructor(record: WishesRecord) {
    this.adopt(record)
  }

  adopt({ logLevel, subscriptions = [] }: WishesRecord): void {
    this.#logLevel = logLevel
    this.#subscriptions = new Set(subscriptions)
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

  get subscriptions(): ReadonlySet<string> {
    return this.#subscriptions
  }

  /** Throws McpError 429 beyond 1,000 resources. */
  subscribe(uri: string): void {
    if (this.#subscriptions.size >= maxSubscriptions && !this.#subscriptions.has(uri))
      throw new McpError(tooManyRequests, `a session may have ${maxSubscriptions} subscriptions`)
    this.#subscriptions.add(uri)
  }

  unsubscribe(uri: string): void {
    this.#subscriptions.delete(uri)
  }

  toRecord(): WishesRecord {
    return {
      ...(this.#logLevel !== undefined && { logLevel: this.#logLevel }),
      ...(this.#subscriptions.size > 0 && { subscriptions: Object.freeze([...this.#subscriptions]) }),
    }
  }
}
