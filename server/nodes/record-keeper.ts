import { TransportError } from '../../transports/base/errors.js'
import type { SessionStore, SessionRecord } from '../engine/session-store.js'
import type { Claims } from './claims.js'
import type { ClusterEngine, Engine } from '../engine/engine.js'
import { askCheck } from '../engine/refusal.js'
import { checkRecord, recordOf, recordText } from './record-text.js'
import type { Seal, SealedAs } from './seal.js'
import { isUnavailable } from './unavailable.js'

interface RecordKeeperInput {
  readonly node: string
  /** Milliseconds that a record is kept after it was saved. */
  readonly ttl: number
  readonly claims: Claims
  readonly seal: Seal
  /** It may know what it can never save. */
  readonly opener: Pick<ClusterEngine, 'check'>
  /** Throws CLUSTER_UNAVAILABLE while this node may not do anything for its sessions. */
  readonly engine: () => Engine
  /** Rejects if the engine may have lost a session that somebody still has. */
  readonly confirm: () => Promise<void>
  /** A session is another node's by now. */
  readonly lost: (session: string) => void
}

/** What an engine that is there has not saved. */
export interface Unsaved {
  /** How many records. */
  readonly count: number
  /** What it has said to the last of them. */
  readonly problem: string
}

/**
 * The records of the sessions of all nodes: a node saves and deletes those that it owns. One that no node has
 * written for its session is not read, and stays until it expires: it may be good for nodes with other keys.
 */
export class RecordKeeper implements SessionStore {
  readonly #input: RecordKeeperInput
  #unsaved: Unsaved = { count: 0, problem: '' }

  constructor(input: RecordKeeperInput) {
    this.#input = input
  }

  /** Since the beginning. */
  get unsaved(): Unsaved {
    return this.#unsaved
  }

  async load(id: string): Promise<SessionRecord | undefined> {
    const { ttl, claims, seal, engine, confirm } = this.#input
    const text = await engine().load(id)
    if (text === undefined) {
      await confirm()
      return undefined
    }
    const record = seal.open(sealedAs(id), text, recordOf)
    // an engine that forgets it is told of it, also if nothing more is saved
    const claim = claims.get(id)
    if (record !== undefined && claim?.epoch !== undefined && isNewer(record, claim.saved))
      claim.saved = { text, version: record.version, ttl }
    return record
  }

  check(record: SessionRecord): void {
    checkRecord(record)
    askCheck(this.#input.opener, record)
  }

  async save(record: SessionRecord): Promise<void> {
    const { node, ttl, claims, seal, lost } = this.#input
    const { id, version } = record
    const engine = this.#input.engine()
    const claim = claims.get(id)
    if (claim === undefined) lost(id)
    if (claim?.epoch === undefined) throw notOurs()
    const saved = { text: seal.close(sealedAs(id), recordText(record)), version, ttl }
    if (await this.#noted(engine.save(node, id, claim.epoch, saved))) {
      if (isNewer(saved, claim.saved)) claim.saved = saved
      return
    }
    // an engine that has lost the session is about to be told of it
    await this.#input.confirm()
    // it may have been claimed anew meanwhile
    if (claims.get(id) === claim) lost(id)
    throw notOurs()
  }

  async #noted<Answer>(saving: Promise<Answer>): Promise<Answer> {
    try {
      return await saving
    } catch (error) {
      if (isUnavailable(error)) this.#unsaved = { count: this.#unsaved.count + 1, problem: error.message }
      throw error
    }
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

function sealedAs(session: string): SealedAs {
  return { kind: 'session', place: session }
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
