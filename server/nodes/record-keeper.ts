import { TransportError } from '../../transports/base/errors.js'
import type { SessionRecord, SessionStore } from '../stores/session-store.js'
import type { Claims } from './claims.js'
import type { Engine } from './engine.js'
import { recordOf, recordText } from './record-text.js'

export interface RecordKeeperInput {
  readonly node: string
  /** Milliseconds that a record is kept after it was saved. */
  readonly ttl: number
  readonly claims: Claims
  /** Throws CLUSTER_UNAVAILABLE while this node may not do anything for its sessions. */
  readonly engine: () => Engine
  /** Rejects if the engine may have lost a session that somebody still has. */
  readonly confirm: () => Promise<void>
  /** A session is another node's by now. */
  readonly lost: (session: string) => void
}

/** The records of the sessions of all nodes: a node saves and deletes those that it owns. */
export class RecordKeeper implements SessionStore {
  readonly #input: RecordKeeperInput

  constructor(input: RecordKeeperInput) {
    this.#input = input
  }

  async load(id: string): Promise<SessionRecord | undefined> {
    const { ttl, claims, engine, confirm } = this.#input
    const text = await engine().load(id)
    if (text === undefined) {
      await confirm()
      return undefined
    }
    const record = recordOf(text)
    // an engine that forgets it is told of it, also if nothing more is saved
    const claim = claims.get(id)
    if (record !== undefined && claim?.epoch !== undefined && isNewer(record, claim.saved))
      claim.saved = { text, version: record.version, ttl }
    return record
  }

  async save(record: SessionRecord): Promise<void> {
    const { node, ttl, claims, lost } = this.#input
    const { id, version } = record
    const engine = this.#input.engine()
    const claim = claims.get(id)
    if (claim === undefined) lost(id)
    if (claim?.epoch === undefined) throw notOurs()
    const saved = { text: recordText(record), version, ttl }
    if (await engine.save(node, id, claim.epoch, saved)) {
      if (isNewer(saved, claim.saved)) claim.saved = saved
      return
    }
    // an engine that has lost the session is about to be told of it
    await this.#input.confirm()
    // it may have been claimed anew meanwhile
    if (claims.get(id) === claim) lost(id)
    throw notOurs()
  }

  async delete(id: string): Promise<void> {
    const { node, claims, lost } = this.#input
    const engine = this.#input.engine()
    const claim = claims.get(id)
    if (claim?.epoch === undefined) return
    if (await engine.delete(node, id, claim.epoch)) return claims.forget(id)
    if (claims.get(id) === claim) lost(id)
  }
}

function isNewer({ version }: Versioned, known: Versioned | undefined): boolean {
  return known === undefined || known.version < version
}

interface Versioned {
  readonly version: number
}

function notOurs(): TransportError {
  return new TransportError('SEND_FAILED', 'the session is for another node', { retryable: true })
}
