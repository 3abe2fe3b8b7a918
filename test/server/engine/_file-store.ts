import { systemWorld } from 'caduceus/runtime'
import type { ServerEngine, SessionRecord, SessionStore } from 'caduceus/server'
import { FileSessions, type FileSessionsOptions } from '../../../server/engine/file-sessions.js'
import { records } from '../../../server/engine/records.js'
import { MemorySessions, type SessionLimits } from '../../../server/engine/session-store.js'

const limits: SessionLimits = { maxSessions: 10_000, idleTimeout: 30 * 60_000 }

/** The sessions of `files()` by themselves; `date` is in ms since 1970. */
export function fileSessions(
  options: Pick<FileSessionsOptions, 'folder'> & Partial<FileSessionsOptions>,
  date: () => number = systemWorld.date,
): FileSessions {
  return new FileSessions(
    { ...limits, maxBytes: 1_048_576, durable: false, ...options },
    { ...systemWorld, date },
  )
}

/** The sessions of `inMemory()` by themselves; `now` is in ms. */
export function memorySessions(
  options: Partial<SessionLimits> = {},
  now: () => number = systemWorld.now,
): MemorySessions {
  return new MemorySessions({ ...limits, ...options }, now)
}

/** An engine whose sessions several servers take turns in. */
export function inTurns(store: SessionStore): ServerEngine {
  return records({
    shared: true,
    load: (id) => store.load(id),
    save: (record) => store.save(record),
    delete: (id) => store.delete(id),
  })
}

/** A record of a session. */
export function makeRecord(
  id: string,
  version: number,
  state: Readonly<Record<string, unknown>> = {},
): SessionRecord {
  const client = { name: 'client', version: '1' }
  return { id, version, revision: '2025-11-25', client, capabilities: { roots: {} }, catalog: 0, state }
}
