import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { World } from '../../runtime/time/world.js'
import { noSession } from './access.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { SealedFacts } from '../engine/sealed-ids.js'
import { askStoreOf } from './saving.js'
import { isSessionRecord, type SessionRecord, type SessionStore } from '../engine/session-store.js'

export interface Known {
  readonly record: SessionRecord
  /** In ms since 1970; undefined for an id that does not end by itself. */
  readonly expiresAt: number | undefined
}

const nothing = Object.freeze({})

export class SessionRecords {
  readonly #holdings: Holdings
  readonly #tasks: TaskSupervisor
  readonly #world: World
  readonly #ending = new Set<string>()
  /** Who looks for a record at this moment, by id: a session that ends meanwhile is not there for them. */
  readonly #looking = new Map<string, Set<{ isOver: boolean }>>()

  constructor(holdings: Holdings, tasks: TaskSupervisor, world: World) {
    this.#holdings = holdings
    this.#tasks = tasks
    this.#world = world
  }

  /** Whether other programs may continue or end a session that runs here. */
  get areShared(): boolean {
    return this.#holdings.store.shared === true
  }

  /** The first record of a new session, with a sealed id or a random one. */
  issue(facts: SealedFacts): Known {
    const sealed = this.#holdings.settings.ids?.seal(facts, this.#server, this.#world)
    return { record: this.#first(facts, sealed?.id ?? this.#world.id()), expiresAt: sealed?.expiresAt }
  }

  /** Rejects with TransportError SESSION_NOT_FOUND for a session that is unknown, ended or expired. */
  async load(id: string): Promise<Known> {
    const sealed = this.#holdings.settings.ids?.open(id, this.#server, this.#world)
    if (this.#ending.has(id) || (sealed === undefined && this.#areSealed)) throw noSession()
    return this.unlessEnded(id, async (isOver) => {
      const record = (await this.#find(id)) ?? (sealed && this.#first(sealed.facts, id))
      if (record === undefined || isOver()) throw noSession()
      return { record, expiresAt: sealed?.expiresAt }
    })
  }

  /** Does what must not come about of a session that is ended meanwhile: it can ask whether that is so. */
  async unlessEnded<T>(id: string, bringAbout: (isOver: () => boolean) => Promise<T>): Promise<T> {
    const look = { isOver: false }
    const lookers = this.#looking.get(id) ?? new Set()
    this.#looking.set(id, lookers.add(look))
    try {
      return await bringAbout(() => look.isOver || this.#ending.has(id))
    } finally {
      lookers.delete(look)
      if (lookers.size === 0) this.#looking.delete(id)
    }
  }

  /** A malformed record is deleted, or it would be found again and again. */
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

  /** Ends a session for good, once it is stopped: it is deleted, and its id opens nothing more. */
  async end(id: string, stop?: () => Promise<void>): Promise<void> {
    const { settings } = this.#holdings
    this.#ending.add(id)
    try {
      await stop?.()
      const sealed = settings.ids?.open(id, this.#server, this.#world)
      if (sealed !== undefined) settings.ids?.revoke(sealed, this.#world)
      else if (this.#areSealed) return // expired, or being ended by another call
      await this.#keep((store) => store.delete(id))
      for (const look of this.#looking.get(id) ?? []) look.isOver = true
    } finally {
      this.#ending.delete(id)
    }
  }

  get #server(): string {
    return this.#holdings.settings.definition.info.name
  }

  get #areSealed(): boolean {
    return this.#holdings.settings.ids !== undefined
  }

  #first(facts: SealedFacts, id: string): SessionRecord {
    const { catalog } = this.#holdings
    return { id, version: 0, ...facts, catalog: catalog.version, state: nothing }
  }

  #keep<Answer>(ask: (store: SessionStore) => Answer | Promise<Answer>): Promise<Answer> {
    const { store } = this.#holdings
    return askStoreOf(this.#holdings, this.#tasks, () => ask(store))
  }
}
