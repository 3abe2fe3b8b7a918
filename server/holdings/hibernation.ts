import type { OpenSessionFacts } from '../context/context.js'
import { ResourceUpdates } from './resource-updates.js'

/** What is known of a session that hibernates, besides its record. */
export interface Asleep {
  readonly facts: OpenSessionFacts
  /** The number of its last process. */
  readonly process: number
  /** The version of its record: one of another version was written by another program. */
  readonly version: number
  /** When it was saved, in whole ms of the monotonic clock. */
  readonly savedAt: number
  /** When it ends without a message, on the same clock. */
  readonly until: number
  /** Resources with a change that its client is to be told of. */
  readonly owed: readonly string[]
  /** The number of the last update of a resource that it has heard of. */
  readonly heard: number
}

/** The sessions that hibernate, those that have longest first: each is only its record until its next message. */
export class Hibernation {
  readonly #asleep = new Map<string, Asleep>()
  readonly #updates = new ResourceUpdates()

  get size(): number {
    return this.#asleep.size
  }

  has(id: string): boolean {
    return this.#asleep.has(id)
  }

  add(asleep: Asleep): void {
    this.#asleep.set(asleep.facts.id, asleep)
  }

  /** It hibernates no more; undefined if it did not. */
  take(id: string): Asleep | undefined {
    const asleep = this.#asleep.get(id)
    if (asleep === undefined) return undefined
    this.#asleep.delete(id)
    return asleep
  }

  /** Forgets updates that nobody is asleep for: to be called once whoever was taken has asked for them. */
  tidy(): void {
    if (this.size === 0) this.#updates.forget()
  }

  all(): Iterable<Asleep> {
    return this.#asleep.values()
  }

  /** The number of the last update of a resource. */
  get lastUpdate(): number {
    return this.#updates.last
  }

  /** Notes an update, of any resource without a uri, and answers its number: those that run are told. */
  noteUpdate(uri?: string): number {
    // while nobody is asleep no more is needed than that there was one
    if (uri === undefined || this.size === 0) this.#updates.noteAll()
    else this.#updates.note(uri)
    return this.lastUpdate
  }

  /** Whether a resource may have been updated after the update with this number. */
  isUpdatedAfter(number: number, uri: string): boolean {
    return this.#updates.isAfter(number, uri)
  }
}
