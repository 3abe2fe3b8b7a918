import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { SealedId } from '../holdings/sealed-ids.js'
import type { SealedFacts } from '../holdings/sealed-payload.js'
import { storeTime } from './saving.js'
import { isSessionRecord, type SessionRecord, type SessionStore } from '../stores/session-store.js'

/** What the client was told of the server's lists is not known: it is told of all of them. */
const unknownCatalog = 0

/** A session that may be brought back. */
export interface Known {
  readonly record: SessionRecord
  /** In ms since 1970; undefined for an id that does not end by itself. */
  readonly expiresAt: number | undefined
}

/**
 * What is known of sessions that do not run: what the store has, and what a sealed id says. The store is
 * asked in tasks: it may be an author's, and throw, stray, or never answer.
 */
export class SessionRecords {
  readonly #holdings: Holdings
  readonly #tasks: TaskSupervisor
  /** Sessions that are being deleted from the store. */
  readonly #ending = new Set<string>()

  constructor(holdings: Holdings, tasks: TaskSupervisor) {
    this.#holdings = holdings
    this.#tasks = tasks
  }

  /** Whether other programs may have continued or ended a session that runs here. */
  get areShared(): boolean {
    return this.#holdings.store.shared === true
  }

  /** The first record of a session that begins; `makeId` is asked for an id that says nothing. */
  issue(facts: SealedFacts, makeId: () => string): Known {
    const { sessionIds } = this.#holdings.settings
    const sealed = sessionIds?.seal(facts, this.#server)
    return { record: this.#first(facts, sealed?.id ?? makeId()), expiresAt: sealed?.expiresAt }
  }

  /** Rejects with TransportError SESSION_NOT_FOUND for what nobody knows, was ended, or has expired. */
  async load(id: string): Promise<Known> {
    const sealed = this.#holdings.settings.sessionIds?.open(id, this.#server)
    const mayExist = !this.#ending.has(id) && (sealed !== undefined || !this.#areSealed)
    const found = mayExist ? await this.#find(id) : undefined
    const record = found ?? (sealed && { ...this.#first(sealed.facts, id), catalog: unknownCatalog })
    if (!mayExist || record === undefined || record.ended === true || this.#ending.has(id))
      throw new TransportError('SESSION_NOT_FOUND', 'there is no such session')
    return { record, expiresAt: sealed?.expiresAt }
  }

  /** What is no record nobody can go on with: it is not kept, or it would be found again and again. */
  async #find(id: string): Promise<SessionRecord | undefined> {
    const found: unknown = await this.#keep((store) => store.load(id))
    if (found === undefined || found === null) return undefined
    if (isSessionRecord(found) && found.id === id) return found
    await this.#keep((store) => store.delete(id))
    return undefined
  }

  async save(record: SessionRecord): Promise<void> {
    await this.#keep((store) => store.save(record))
  }

  /** Nobody brings the session back from here on. */
  async end(id: string): Promise<void> {
    const { settings } = this.#holdings
    const sealed = settings.sessionIds?.open(id, this.#server)
    if (sealed !== undefined) settings.sessionIds?.revoke(sealed)
    else if (this.#areSealed) return // has ended by itself, or somebody else is ending it
    this.#ending.add(id)
    try {
      // what only this program asks need not be told what this program knows
      if (sealed === undefined || settings.store === undefined) await this.#keep((store) => store.delete(id))
      else await this.save(this.#last(sealed))
    } finally {
      this.#ending.delete(id)
    }
  }

  get #server(): string {
    return this.#holdings.settings.definition.info.name
  }

  get #areSealed(): boolean {
    return this.#holdings.settings.sessionIds !== undefined
  }

  #first(facts: SealedFacts, id: string): SessionRecord {
    const { catalog } = this.#holdings
    return { id, version: 0, ...facts, catalog: catalog.version, state: {} }
  }

  /** Newer than anything that is still being saved. */
  #last({ facts, id, expiresAt }: SealedId): SessionRecord {
    return { ...this.#first(facts, id), version: Number.MAX_SAFE_INTEGER, ended: true, expiresAt }
  }

  #keep<Answer>(ask: (store: SessionStore) => Answer | Promise<Answer>): Promise<Answer> {
    const { store } = this.#holdings
    return this.#tasks.start<Answer>(async () => ask(store), { name: 'session store', timeout: storeTime })
      .result
  }
}
