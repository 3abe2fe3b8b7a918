import { among } from '../../runtime/base/near.js'
import { isObject } from '../../protocol/wire/json.js'
import { isLoggingLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import { show } from '../../runtime/base/errors.js'
import { isCount } from '../../runtime/supervision/options.js'
import { type ServerError, optionError } from '../base/errors.js'

/** What a record keeps of a client's wishes; absent where it has none. */
export interface WishesRecord {
  readonly logLevel?: LoggingLevel
  readonly subscriptions?: readonly string[]
}

/**
 * What is kept of a session, so that it comes back after its actor, the group or the program has died; plain
 * data.
 */
export interface SessionRecord extends WishesRecord {
  readonly id: string
  /** Grows with every record of a session: a store keeps the one with the highest. */
  readonly version: number
  readonly revision: string
  readonly client: Implementation
  readonly capabilities: ClientCapabilities
  /**
   * Whom it belongs to, as a digest; absent when it belongs to whoever has the id. It is kept as it is, like
   * all of a record.
   */
  readonly principal?: string
  /** Whether the client has said `notifications/initialized`, be it to another program. */
  readonly initialized?: true
  /** What the client was told of the server's lists, as a number that changes with them. */
  readonly catalog: number
  /** What tools keep with `ctx.update`; the values are never changed in place. */
  readonly state: Readonly<Record<string, unknown>>
  /**
   * The session was ended for good, and its id is sealed: to be kept until `expiresAt`, so that nobody
   * continues it.
   */
  readonly ended?: true
  /** In ms since 1970; only with `ended`. */
  readonly expiresAt?: number
}

/**
 * Where sessions are kept: after `initialize` and after each request that changed something. A method that
 * throws or rejects fails the request it was called for.
 */
export interface SessionStore {
  /**
   * Whether several programs serve the same sessions from this store, one message after the other: then each
   * message looks here whether another one has continued or ended the session. Default false.
   */
  readonly shared?: boolean
  /**
   * Answers undefined (null counts) where there is none. What is no record is deleted, and the session is not
   * known.
   */
  load(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>
  save(record: SessionRecord): unknown
  delete(id: string): unknown
}

/** How a memory store is bounded. */
export interface MemoryStoreOptions {
  /** Sessions at once; beyond it the one saved longest ago is forgotten. Default 10,000. */
  readonly maxSessions?: number
  /** Milliseconds after which a session that was not saved again is forgotten. Default 30 min. */
  readonly idleTimeout?: number
  /** The time in ms. Default `performance.now`. */
  readonly now?: () => number
}

/**
 * A store in the memory of this process: sessions survive every restart of the server's group, not that of
 * the program. Throws ServerError BAD_OPTION.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): SessionStore {
  const { maxSessions, idleTimeout, now } = readMemoryStoreOptions(options)
  // in the order of saving, so that the first is always the next to go
  const kept = new Map<string, { readonly record: SessionRecord; readonly at: number }>()

  function forgetOld(): void {
    const oldest = now() - idleTimeout
    for (const [id, { at }] of kept) {
      if (kept.size <= maxSessions && at > oldest) return
      kept.delete(id)
    }
  }

  return {
    load(id) {
      const found = kept.get(id)
      return found !== undefined && found.at > now() - idleTimeout ? found.record : undefined
    },
    save(record) {
      const known = kept.get(record.id)
      if (known !== undefined && known.record.version > record.version) return
      kept.delete(record.id)
      kept.set(record.id, { record, at: now() })
      forgetOld()
    },
    delete(id) {
      kept.delete(id)
    },
  }
}

/** Whether this is a record that a session can start from; a store may be anybody's. */
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

const defaults = Object.freeze({
  maxSessions: 10_000,
  idleTimeout: 30 * 60_000,
  now: () => performance.now(),
})

function readMemoryStoreOptions(options: MemoryStoreOptions): Required<MemoryStoreOptions> {
  if (!isObject(options)) throw bad('options', 'an object', options)
  for (const field of Object.keys(options))
    if (!Object.hasOwn(defaults, field))
      throw bad(field, among('an option', Object.keys(defaults), field), field)
  const {
    maxSessions = defaults.maxSessions,
    idleTimeout = defaults.idleTimeout,
    now = defaults.now,
  }: MemoryStoreOptions = options
  for (const [field, value] of Object.entries({ maxSessions, idleTimeout }))
    if (!(typeof value === 'number' && value > 0)) throw bad(field, 'a number above 0', value)
  if (!isCount(maxSessions)) throw bad('maxSessions', 'a whole number above 0', maxSessions)
  if (typeof now !== 'function') throw bad('now', 'a function', now)
  return { maxSessions, idleTimeout, now }
}

function bad(field: string, expected: string, got: unknown): ServerError {
  const problem = `memory store: ${field}: expected ${expected}, got ${show(got)}`
  return optionError(field, problem)
}
