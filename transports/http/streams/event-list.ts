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
  readonly #shelf: EventShelf

  constructor(shelf: EventShelf) {
    this.#shelf = shelf
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

/** What holds the events of many streams: when there are too many bytes, the oldest streams lose theirs. */
export class EventShelf {
  readonly limits: EventLogLimits
  bytes = 0
  /** Lists that hold bytes, the oldest first. */
  readonly #holding = new Set<Pick<EventList<unknown>, 'bytes' | 'clear'>>()

  constructor(limits: EventLogLimits) {
    this.limits = limits
  }

  account(list: Pick<EventList<unknown>, 'bytes' | 'clear'>, bytes: number): void {
    this.bytes += bytes
    if (list.bytes === 0) this.#holding.delete(list)
    else this.#holding.add(list)
    for (const oldest of this.#holding) {
      if (this.bytes <= this.limits.maxTotalBytes) break
      if (oldest !== list) oldest.clear()
    }
  }
}

function bytesOf(data: string): number {
  return Buffer.byteLength(data) + overhead
}
