import { isObject } from '../../protocol/wire/json.js'
import { lastingWorld } from '../../runtime/process/context.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { messageOf } from '../../runtime/base/errors.js'
import { ServerError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { Sealing, type Secrets } from '../base/sealing.js'
import { LocalEngine } from './local-engine.js'
import { tooLarge } from './session-size.js'
import type { SessionLimits, SessionRecord, SessionStore } from './session-store.js'
import { createMemoryTaskStore } from './task-store.js'
import type { ValueEngine } from './values.js'

/** What a Durable Object has as `state.storage`; only what is used of it. */
export interface ObjectStorage {
  readonly sql: {
    exec(
      query: string,
      ...bindings: readonly (string | number)[]
    ): { toArray(): readonly Readonly<Record<string, unknown>>[] }
  }
}

/** Options of `durableObject()`. */
export interface DurableObjectOptions {
  /** `state.storage` of an object whose class keeps SQLite (`new_sqlite_classes` of its migration). */
  readonly storage: ObjectStorage
  /** Logins are sealed with the first, and opened with any. Default: a secret in the storage. */
  readonly keys?: Secrets
}

/** Milliseconds between two looks for logins that have expired. */
const sweepInterval = 3_600_000
/** Bytes of one session: a row of this storage has 2 MB at most, with what else is in it. */
const maxBytes = 2_000_000 - 4_096

/**
 * Sessions, their state and logins of users are in the storage of a Durable Object of Cloudflare, and are there
 * again when it was evicted. An object has one server. Throws ServerError BAD_OPTION.
 */
export function durableObject(options: DurableObjectOptions): LocalEngine {
  const { readFields, badOption } = readersOf('durableObject')
  readFields(options, 'options', ['storage', 'keys'])
  const { storage, keys } = options
  if (!isObject(storage?.sql) || typeof storage.sql.exec !== 'function')
    throw badOption('storage', 'state.storage of a class in new_sqlite_classes', storage)
  // wrong ones throw here, not when a server starts
  if (keys !== undefined)
    new Sealing(keys, { purpose: 'caduceus object', field: 'keys', of: 'durableObject' })
  return new LocalEngine({
    name: 'durable object',
    outlives: true,
    async open(ctx, limits) {
      const world = lastingWorld(ctx.world)
      const ask = askerOf(storage)
      for (const table of tables) ask(table)
      return {
        sessions: new ObjectSessions(ask, limits, world),
        tasks: createMemoryTaskStore(),
        values: new ObjectValues(ask, world),
        secrets: keys ?? [secretIn(ask, world)],
      }
    },
  })
}

const tables = [
  'CREATE TABLE IF NOT EXISTS caduceus_sessions (id TEXT PRIMARY KEY, version REAL, record TEXT, saved_at REAL) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS caduceus_saved ON caduceus_sessions (saved_at)',
  'CREATE TABLE IF NOT EXISTS caduceus_values (place TEXT PRIMARY KEY, text TEXT, until REAL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS caduceus_secret (one INTEGER PRIMARY KEY CHECK (one = 1), secret TEXT)',
]

type AskStorage = (query: string, ...bindings: readonly (string | number)[]) => readonly Row[]
type Row = Readonly<Record<string, unknown>>

function askerOf({ sql }: ObjectStorage): AskStorage {
  return (query, ...bindings) => sql.exec(query, ...bindings).toArray()
}

/** What was sealed before the object was evicted is opened after. */
function secretIn(ask: AskStorage, { randomBytes }: World): Uint8Array {
  const proposed = randomBytes(32).toString('base64')
  ask('INSERT OR IGNORE INTO caduceus_secret (one, secret) VALUES (1, ?)', proposed)
  const [row] = ask('SELECT secret FROM caduceus_secret')
  return Buffer.from(String(row?.secret), 'base64')
}

class ObjectSessions implements SessionStore {
  readonly #ask: AskStorage
  readonly #limits: SessionLimits
  readonly #world: World
  #count: number
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(ask: AskStorage, limits: SessionLimits, world: World) {
    this.#ask = ask
    this.#limits = limits
    this.#world = world
    const [row] = ask('SELECT count(*) AS count FROM caduceus_sessions')
    this.#count = Number(row?.count)
  }

  load(id: string): SessionRecord | undefined {
    const [row] = this.#ask(
      'SELECT record FROM caduceus_sessions WHERE id = ? AND saved_at > ?',
      id,
      this.#oldest,
    )
    return row === undefined ? undefined : (JSON.parse(String(row.record)) as SessionRecord)
  }

  check(record: SessionRecord): void {
    textOf(record)
  }

  save(record: SessionRecord): void {
    const { id, version } = record
    const [known] = this.#ask('SELECT version FROM caduceus_sessions WHERE id = ?', id)
    if (known !== undefined && Number(known.version) > version) return
    this.#ask(
      'INSERT OR REPLACE INTO caduceus_sessions (id, version, record, saved_at) VALUES (?, ?, ?, ?)',
      ...[id, version, textOf(record), this.#world.date()],
    )
    if (known === undefined) this.#count += 1
    this.#forgetOld()
  }

  delete(id: string): void {
    this.#forget('id = ?', id)
  }

  get #oldest(): number {
    return this.#world.date() - this.#limits.idleTimeout
  }

  #forgetOld(): void {
    const { maxSessions, idleTimeout } = this.#limits
    const now = this.#world.date()
    if (now - this.#sweptAt >= idleTimeout / 100) {
      this.#sweptAt = now
      this.#forget('saved_at <= ?', this.#oldest)
    }
    const more = this.#count - maxSessions
    if (more > 0) this.#forget('id IN (SELECT id FROM caduceus_sessions ORDER BY saved_at LIMIT ?)', more)
  }

  #forget(which: string, binding: string | number): void {
    this.#count -= this.#ask(`DELETE FROM caduceus_sessions WHERE ${which} RETURNING 1`, binding).length
  }
}

/** Throws BAD_STATE for a record that no row can hold. */
function textOf(record: SessionRecord): string {
  let text: string
  try {
    text = JSON.stringify(record)
  } catch (cause) {
    const problem = `the state of a session: expected values that have JSON: ${messageOf(cause)}`
    throw new ServerError('BAD_STATE', problem, { cause })
  }
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  const measure = (part: unknown): number => Buffer.byteLength(JSON.stringify(part))
  throw tooLarge(record, { most: maxBytes, bytes, measure })
}

class ObjectValues implements ValueEngine {
  readonly #ask: AskStorage
  readonly #world: World
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(ask: AskStorage, world: World) {
    this.#ask = contained(ask)
    this.#world = world
  }

  value(place: string): string | undefined {
    const now = this.#world.date()
    const [row] = this.#ask('SELECT text FROM caduceus_values WHERE place = ? AND until > ?', place, now)
    return row === undefined ? undefined : String(row.text)
  }

  /** Nothing comes in between: an object does one thing at a time until it waits. */
  setValue(place: string, was: string | undefined, text: string | undefined, ttl: number): boolean {
    if (this.value(place) !== was) return false
    const now = this.#world.date()
    if (text === undefined) this.#ask('DELETE FROM caduceus_values WHERE place = ?', place)
    else
      this.#ask(
        'INSERT OR REPLACE INTO caduceus_values (place, text, until) VALUES (?, ?, ?)',
        ...[place, text, now + ttl],
      )
    if (now - this.#sweptAt >= sweepInterval) {
      this.#sweptAt = now
      this.#ask('DELETE FROM caduceus_values WHERE until <= ?', now)
    }
    return true
  }
}

/** Who signs in while the storage is full or away is told to try again. */
function contained(ask: AskStorage): AskStorage {
  return (...question) => {
    try {
      return ask(...question)
    } catch (cause) {
      throw new TransportError('CLUSTER_UNAVAILABLE', 'the storage of the object cannot be used', {
        cause,
        retryable: true,
      })
    }
  }
}
