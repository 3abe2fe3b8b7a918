import type { EventLogLimits } from '../../contract/shared-streams.js'

/** Overhead in bytes of a stream and of an event, besides their text. */
const overhead = 256

interface Entry<Event> {
  readonly number: number
  readonly event: Event
  readonly bytes: number
}

/** The latest events of one stream. */
export class EventList<Event> {
  /** The number of the last event that is not kept. */
  trimmedTo = 0
  bytes = 0
  readonly #entries: Entry<Event>[] = []
  readonly session: string
  readonly #shelf: EventShelf

  constructor(shelf: EventShelf, session: string) {
    this.#shelf = shelf
    this.session = session
  }

  /** Adds one; the oldest beyond the limits go, never the last one. */
  add(number: number, event: Event, data: string): void {
    const before = this.bytes
    const bytes = bytesOf(data)
    this.#entries.push({ number, event, bytes })
    this.bytes += bytes
    this.#trim()
    this.#shelf.account(this, this.bytes - before)
  }

  after(number: number): Event[] {
    return this.#entries.flatMap((entry) => (entry.number > number ? [entry.event] : []))
  }

  /** Whether one more would cost none of the events after this one. */
  hasRoom(data: string, number = 0): boolean {
    const { maxEvents, maxBytes } = this.#shelf.limits
    let [events, bytes] = [1, bytesOf(data)]
    for (let index = this.#entries.length - 1; index >= 0; index--) {
      const entry = this.#entries[index]
      if (entry === undefined || entry.number <= number) break
      events += 1
      bytes += entry.bytes
    }
    return events <= maxEvents && bytes <= maxBytes
  }

  /** Forgets all events up to this number, which is the last of them. */
  clear(number = this.#entries.at(-1)?.number ?? this.trimmedTo): void {
    const { bytes } = this
    this.trimmedTo = number
    this.#entries.length = 0
    this.bytes = 0
    this.#shelf.account(this, -bytes)
  }

  #trim(): void {
    const { maxEvents, maxBytes } = this.#shelf.limits
    while (this.#entries.length > 1 && (this.#entries.length > maxEvents || this.bytes > maxBytes)) {
      const oldest = this.#entries.shift()
      if (oldest === undefined) break
      this.bytes -= oldest.bytes
      this.trimmedTo = oldest.number
    }
  }
}

/** A stream, as far as its place counts. */
type Holding = Pick<EventList<unknown>, 'session' | 'bytes' | 'clear'>

/** What a session holds: its lists with bytes, the oldest first. */
interface Held {
  bytes: number
  readonly lists: Set<Holding>
}

/**
 * What holds the events of many streams: when there are too many bytes, sessions with more than their share
 * lose.
 */
export class EventShelf {
  readonly limits: EventLogLimits
  bytes = 0
  readonly #sessions = new Map<string, Held>()

  constructor(limits: EventLogLimits) {
    this.limits = limits
  }

  account(list: Holding, bytes: number): void {
    const held = this.#sessions.get(list.session) ?? { bytes: 0, lists: new Set() }
    this.bytes += bytes
    held.bytes += bytes
    if (list.bytes === 0) held.lists.delete(list)
    else held.lists.add(list)
    if (held.lists.size === 0) this.#sessions.delete(list.session)
    else this.#sessions.set(list.session, held)
    while (this.bytes > this.limits.maxTotalBytes) {
      const oldest = this.#nextToLose(list, held)
      if (oldest === undefined) break
      oldest.clear()
    }
  }

  /**
   * The oldest stream of the session that adds one too many, else of another, if that has more than its share. The
   * added one stays: where it alone is more than that, the oldest of all goes.
   */
  #nextToLose(added: Holding, adding: Held): Holding | undefined {
    const share = this.limits.maxTotalBytes / this.#sessions.size
    let oldest: Holding | undefined
    for (const { bytes, lists } of [adding, ...this.#sessions.values()])
      for (const list of lists) {
        if (list === added) continue
        if (bytes > share) return list
        oldest ??= list
        break
      }
    return oldest
  }
}

function bytesOf(data: string): number {
  return Buffer.byteLength(data) + overhead
}
