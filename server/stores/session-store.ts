import { isObject } from '../../protocol/wire/json.js'
import { isPromise } from '../../runtime/base/promise.js'
import { isLoggingLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { readersOf } from '../base/read-options.js'

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
  /**
   * The session has ended, and its id is sealed: keep the record until `expiresAt`, so that nobody continues
   * it.
   */
  readonly ended?: true
  /** In ms since 1970; only with `ended`. */
  readonly expiresAt?: number
}

/**
 * Stores sessions: after `initialize`, and after each request that changed something. A method that throws,
 * rejects, or takes more than 5 s fails the request that called it.
 */
export interface SessionStore {
  /**
   * Whether several programs serve the same sessions from this store, one message after the other: each
   * message then checks here whether another program has continued or ended its session. Default false.
   */
  readonly shared?: boolean
  /** Answers undefined or null if there is none. A malformed record is deleted, and the session is 404. */
  load(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>
  save(record: SessionRecord): unknown
  delete(id: string): unknown
}

/** Of a store that was made before its server: it gets the world of the first one that opens it. */
export const opened: unique symbol = Symbol('opened')

/**
 * Gives a store the time of the server that it works for, unless it has its own. A record is deleted once
 * what was being saved of it is settled: a save that comes after would bring its session back.
 */
export function openStore(store: SessionStore, world: World): SessionStore {
  ;(store as { [opened]?(world: World): void })[opened]?.(world)
  /** What is being saved, by id, and since when. */
  const saves = new Map<string, Map<Promise<void>, number>>()
  return {
    ...(store.shared !== undefined && { shared: store.shared }),
    load: (id) => store.load(id),
    save(record) {
      const { id } = record
      const saving = store.save(record)
      if (!isPromise(saving)) return saving
      const all = saves.get(id) ?? new Map<Promise<void>, number>()
      const settled = Promise.resolve(saving).then(ignore, ignore)
      saves.set(id, all.set(settled, world.now()))
      void settled.then(() => {
        all.delete(settled)
        if (all.size === 0 && saves.get(id) === all) saves.delete(id)
      })
      return saving
    },
    delete(id) {
      const all = saves.get(id)
      // one that takes longer was given up, and may never settle
      const recent = [...(all ?? [])].flatMap(([settled, at]) =>
        world.now() - at < givenUp ? [settled] : [],
      )
      return recent.length === 0 ? store.delete(id) : Promise.all(recent).then(() => store.delete(id))
    },
  }
}

/** Milliseconds that a store has for an answer. */
const givenUp = 5_000

function ignore(): void {}

/** How a memory store is bounded. */
export interface MemoryStoreOptions {
  /** Sessions at once; one more drops the one saved longest ago. Default 10,000. */
  readonly maxSessions?: number
  /** Milliseconds after its last save until a session is dropped. Default 30 min. */
  readonly idleTimeout?: number
  /** The time in ms. Default: that of the server's `clock`. */
  readonly now?: () => number
}

/** A store in memory: sessions survive restarts of the group, not the program's end. Throws BAD_OPTION. */
export function createMemoryStore(options: MemoryStoreOptions = {}): SessionStore {
  const { readFields, readFunction, readLimit, readMs } = readersOf('memory store')
  readFields(options, 'options', ['maxSessions', 'idleTimeout', 'now'])
  const maxSessions = readLimit(options.maxSessions, 'maxSessions', 10_000)
  const idleTimeout = readMs(options.idleTimeout, 'idleTimeout', 30 * 60_000)
  if (options.now !== undefined) readFunction(options.now, 'now')
  let { now: time } = options
  const now = (): number => (time ?? systemWorld.now)()
  // in the order of saving: the first is the next to be dropped
  const kept = new Map<string, { readonly record: SessionRecord; readonly at: number }>()

  function forgetOld(): void {
    const oldest = now() - idleTimeout
    for (const [id, { at }] of kept) {
      if (kept.size <= maxSessions && at > oldest) return
      kept.delete(id)
    }
  }

  const store: SessionStore & { [opened](world: World): void } = {
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
    [opened](world: World) {
      time ??= world.now
    },
  }
  return store
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
