import { isObject } from '../../protocol/wire/json.js'
import { isLoggingLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'

/** What a server says of how many sessions there are, and for how long. */
export interface SessionLimits {
  readonly maxSessions: number
  /** Milliseconds that one is kept that is not saved again. */
  readonly idleTimeout: number
}

/** What a client asked for; absent where it asked for nothing. */
export interface WishesRecord {
  readonly logLevel?: LoggingLevel
  readonly subscriptions?: readonly string[]
}

/**
 * A session as it is stored, to be restored after the death of its actor, the group or the program. Plain
 * data.
 */
export interface SessionRecord extends WishesRecord {
  readonly id: string
  /** Grows with every record of a session: a store keeps the record with the highest version. */
  readonly version: number
  readonly revision: string
  readonly client: Implementation
  readonly capabilities: ClientCapabilities
  /** Its owner, as a digest; absent if no principal opened it. */
  readonly principal?: string
  /** The client has sent `notifications/initialized`, to this program or another. */
  readonly initialized?: true
  /** The version of the server's lists that the client was last told of. */
  readonly catalog: number
  /** What tools keep with `ctx.update`; the values are never changed in place. */
  readonly state: Readonly<Record<string, unknown>>
}

/**
 * Stores sessions: after `initialize`, and after each request that changed something. A method that throws,
 * rejects, or takes more than 5 s fails the request that called it.
 */
export interface SessionStore {
  /**
   * Whether several programs serve the same sessions from this store, one message after the other: each
   * message then checks here whether another program has continued or ended its session. Default false. A save
   * that was given up, as it took too long or its request was cancelled, must not succeed later: it would undo
   * what another program has saved meanwhile, or bring back what that has deleted.
   */
  readonly shared?: boolean
  /** Answers undefined or null if there is none. A malformed record is deleted, and the session is 404. */
  load(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>
  save(record: SessionRecord): unknown
  delete(id: string): unknown
  /**
   * Throws for a record that no `save` would ever take, such as one that is too large: asked at once, before a
   * change counts, so that `ctx.update` rejects with BAD_STATE. The record may be a little larger than the one
   * to be saved. After what `save` refuses (BAD_STATE, or what `JSON.stringify` throws) the session is as it was
   * saved last, and its calls under way fail.
   */
  check?(record: SessionRecord): void
}

/** The sessions of a program, in memory: they survive restarts of the group, and not the program's end. */
export class MemorySessions implements SessionStore {
  readonly #limits: SessionLimits
  readonly #now: () => number
  /** In the order of saving: the first is the next to be dropped. */
  readonly #kept = new Map<string, { readonly record: SessionRecord; readonly at: number }>()
  #sweptAt = Number.NEGATIVE_INFINITY

  /** One session more than `maxSessions` drops the one saved longest ago; `now` is in ms. */
  constructor(limits: SessionLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  load(id: string): SessionRecord | undefined {
    const found = this.#kept.get(id)
    return found !== undefined && found.at > this.#oldest ? found.record : undefined
  }

  save(record: SessionRecord): void {
    const known = this.#kept.get(record.id)
    if (known !== undefined && known.record.version > record.version) return
    this.#kept.delete(record.id)
    // whole: a fraction would cost an object of its own
    this.#kept.set(record.id, { record, at: Math.ceil(this.#now()) })
    this.#forgetOld()
  }

  delete(id: string): void {
    this.#kept.delete(id)
  }

  get #oldest(): number {
    return this.#now() - this.#limits.idleTimeout
  }

  #forgetOld(): void {
    const { idleTimeout, maxSessions } = this.#limits
    const now = this.#now()
    // not with each save: a map looks through all that was deleted before its first entry
    if (this.#kept.size <= maxSessions && now - this.#sweptAt < idleTimeout / 100) return
    this.#sweptAt = now
    const oldest = now - idleTimeout
    for (const [id, { at }] of this.#kept) {
      if (this.#kept.size <= maxSessions && at > oldest) return
      this.#kept.delete(id)
    }
  }
}

/** Whether a session can start from this value: stores are written by others, too. */
export function isSessionRecord(value: unknown): value is SessionRecord {
  if (!isObject(value)) return false
  const { id, version, revision, principal = '', client, capabilities, catalog, state } = value
  const { logLevel, subscriptions = [], initialized = true } = value
  return (
    [id, revision, principal].every((text) => typeof text === 'string') &&
    [version, catalog].every(Number.isFinite) &&
    [client, capabilities, state].every(isObject) &&
    initialized === true &&
    (logLevel === undefined || isLoggingLevel(logLevel)) &&
    Array.isArray(subscriptions) &&
    subscriptions.every((uri) => typeof uri === 'string')
  )
}
