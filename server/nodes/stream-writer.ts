import { outside } from '../../runtime/faults/containment.js'
import type { World } from '../../runtime/time/world.js'
import type { EventLogLimits, StreamedEvent, StreamReport } from '../../transports/contract/shared-streams.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Engine, StreamEntry, StreamPlace } from '../engine/engine.js'
import type { Seal } from './seal.js'
import { type StreamRecord, writeEntry } from './stream-entries.js'
import { isUnavailable } from './unavailable.js'

/** Streams that are written at once. */
const atOnce = 64

type Report<Type extends StreamReport['type']> = Extract<StreamReport, { readonly type: Type }>

interface StreamWriterInput {
  readonly world: World
  readonly seal: Seal
  readonly limits: EventLogLimits
  /** Undefined while there is none. */
  readonly engine: () => Engine | undefined
  /** The stream was closed by another node: it goes on there. */
  readonly closed: (stream: StreamPlace) => void
}

/** The events of a stream that are kept on this node. */
interface KeptHere {
  /** Events up to this one are not. */
  readonly after: number
  readonly events: readonly StreamedEvent[]
}

interface WrittenStream {
  readonly place: StreamPlace
  readonly requestId: RequestId | undefined
  readonly log: string
  /** When its log went; undefined while that is there. */
  leftAt: number | undefined
  /** The number of the last event. */
  last: number
  isEnded: boolean
  /** Unacknowledged entries; the first `leaving` are in flight. */
  readonly waiting: StreamEntry[]
  leaving: number
  isWriting: boolean
  /** Entries that the engine may have twice, as an answer was lost. */
  doubtful: number
  /** Characters of what waits. */
  size: number
  /** Characters of each entry that the engine has, the oldest first, and of all. */
  sizes: number[]
  kept: number
  /** What is in the engine before this entry goes with it. */
  cut: StreamEntry | undefined
  /** When it was written last; undefined before the engine has any of it. */
  writtenAt: number | undefined
}

/**
 * Writes the event streams of a node to the engine, in order, those of one turn of the event loop together. What
 * cannot be written waits, as far as it may; what there is no room for is left out, and is missed by nobody in
 * silence, as events have numbers.
 */
export class StreamWriter {
  readonly #input: StreamWriterInput
  /** The oldest first. */
  readonly #streams = new Map<string, WrittenStream>()
  readonly #due = new Set<WrittenStream>()
  #isFlushing = false
  #busy = 0
  /** Characters of all that waits, and of all that the engine has. */
  #waiting = 0
  #kept = 0
  #onDrained: (() => void)[] = []

  constructor(input: StreamWriterInput) {
    this.#input = input
  }

  /** Characters that wait for the engine. */
  get waiting(): number {
    return this.#waiting
  }

  began({ log, stream, sessionId, requestId }: Report<'began'>): void {
    const place = { session: sessionId, stream }
    const state = {
      leftAt: undefined,
      last: 0,
      isEnded: false,
      leaving: 0,
      isWriting: false,
      doubtful: 0,
      size: 0,
      kept: 0,
      cut: undefined,
      writtenAt: undefined,
    }
    const begun: WrittenStream = { place, requestId, log, waiting: [], sizes: [], ...state }
    this.#streams.set(stream, begun)
    this.#add(begun, { type: 'begun' })
  }

  event({ stream: name, number, data, isLast = false }: Report<'event'>): void {
    const stream = this.#streams.get(name)
    if (stream === undefined || stream.isEnded) return
    stream.last = number
    stream.isEnded = isLast
    this.#add(stream, { type: 'event', data, isLast: isLast || undefined })
  }

  ended(name: string): void {
    const stream = this.#streams.get(name)
    if (stream === undefined || stream.isEnded) return
    stream.isEnded = true
    this.#add(stream, { type: 'ended' })
  }

  /** It is not kept any more. */
  dropped(name: string): void {
    const stream = this.#streams.get(name)
    if (stream === undefined) return
    this.#forget(stream)
    const { maxAge } = this.#input.limits
    const wasWritten = stream.writtenAt !== undefined || stream.leaving > 0
    const hasExpired = stream.leaving === 0 && Number(stream.writtenAt) + maxAge <= this.#input.world.now()
    if (wasWritten && !hasExpired) void this.#drop(stream.place)
  }

  /** A session has ended: the engine has forgotten its streams by itself. */
  forgotten(sessionId: string): void {
    for (const stream of this.#streams.values()) if (stream.place.session === sessionId) this.#forget(stream)
  }

  /** A log has gone, and drops nothing any more: its streams are kept for as long as a client may come back. */
  left(log: string): void {
    for (const stream of this.#streams.values())
      if (stream.log === log) stream.leftAt ??= this.#input.world.now()
  }

  /** To be called now and then: writes what could not be written, and keeps streams that are in use. */
  tend(): void {
    const { world, limits } = this.#input
    const now = world.now()
    for (const stream of this.#streams.values()) {
      const { isEnded, leftAt = now, writtenAt = now } = stream
      if (leftAt + limits.maxAge <= now) this.#forget(stream)
      else if (!isEnded && writtenAt + limits.maxAge / 2 < now) this.#due.add(stream)
    }
    this.#flush()
  }

  /** The engine has lost data: writes what is kept here again. */
  repeat(kept: (place: StreamPlace) => KeptHere | undefined): void {
    for (const stream of this.#streams.values()) {
      const here = kept(stream.place)
      if (here === undefined) continue
      const { last, isEnded } = stream
      const events = new Map(here.events.map((event) => [event.number, event]))
      // what is on its way may be lost, or not: it may come twice
      while (this.#leaveOut(stream, 0));
      stream.last = here.after
      this.#add(stream, { type: 'begun' })
      stream.cut = stream.waiting.at(-1)
      while (stream.last < last) {
        stream.last += 1
        const { data, isLast } = events.get(stream.last) ?? {}
        this.#add(stream, { type: 'event', data, isLast })
      }
      if (isEnded && events.get(last)?.isLast !== true) this.#add(stream, { type: 'ended' })
    }
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onDrained.push(resolve))
  }

  #add(stream: WrittenStream, kept: StreamRecord): void {
    const { seal } = this.#input
    const entry = writeEntry(stream.place, kept, { number: stream.last, requestId: stream.requestId, seal })
    stream.waiting.push(entry)
    this.#count(stream, entry.text.length)
    this.#due.add(stream)
    this.#makeRoom(stream)
    this.#flushSoon()
  }

  #count(stream: WrittenStream, size: number): void {
    stream.size += size
    this.#waiting += size
  }

  /** The oldest that waits goes; never the last. */
  #makeRoom(latest: WrittenStream): void {
    const { maxEvents, maxBytes, maxTotalBytes } = this.#input.limits
    while (latest.waiting.length > maxEvents || latest.size > maxBytes) if (!this.#leaveOut(latest)) break
    for (const stream of this.#due) while (this.#waiting > maxTotalBytes && this.#leaveOut(stream));
  }

  #leaveOut(stream: WrittenStream, least = 1): boolean {
    const { waiting, leaving } = stream
    if (waiting.length <= leaving + least) return false
    const [entry] = waiting.splice(leaving, 1)
    this.#count(stream, -Number(entry?.text.length))
    return true
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    outside(() =>
      this.#input.world.setImmediate(() => {
        this.#isFlushing = false
        this.#flush()
      }),
    )
  }

  #flush(): void {
    const engine = this.#input.engine()
    if (engine?.isUp !== true) return
    for (const stream of this.#due) {
      if (this.#busy >= atOnce) return
      if (stream.isWriting) continue
      this.#due.delete(stream)
      outside(() => void this.#write(engine, stream))
    }
  }

  async #write(engine: Engine, stream: WrittenStream): Promise<void> {
    const entries = [...stream.waiting]
    stream.leaving = entries.length
    stream.isWriting = true
    this.#busy += 1
    try {
      const sizes = this.#sizesWith(stream, entries)
      if (stream.cut !== undefined) stream.doubtful = 0
      // entries that were written twice must not push out older ones
      const maxEntries = Math.max(1, sizes.length + stream.doubtful)
      const limits = { maxEntries, ttl: this.#input.limits.maxAge }
      const isOpen = await engine.append(stream.place, entries, limits)
      this.#taken(stream, isOpen)
      if (isOpen) this.#keep(stream, sizes)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      // it may be there or not: it is written again, by `tend`
      stream.leaving = 0
      stream.doubtful += entries.length
      if (this.#isKnown(stream)) this.#due.add(stream)
      return
    } finally {
      stream.isWriting = false
      this.#busy -= 1
    }
    this.#flush()
  }

  #taken(stream: WrittenStream, isOpen: boolean): void {
    const left = stream.waiting.splice(0, stream.leaving)
    const wasKnown = this.#isKnown(stream)
    if (wasKnown) this.#count(stream, -left.reduce((sum, { text }) => sum + text.length, 0))
    stream.leaving = 0
    if (stream.cut !== undefined && !stream.waiting.includes(stream.cut)) stream.cut = undefined
    if (!isOpen) {
      this.#forget(stream)
      if (wasKnown) this.#input.closed(stream.place)
    } else if (stream.waiting.length > 0) this.#due.add(stream)
    this.#noteDrained()
  }

  /** The sizes of what the engine is to keep once it has these entries. */
  #sizesWith({ sizes, cut }: WrittenStream, entries: readonly StreamEntry[]): number[] {
    const { maxEvents, maxBytes } = this.#input.limits
    const first = cut === undefined ? 0 : Math.max(0, entries.indexOf(cut))
    const all = [...(cut === undefined ? sizes : []), ...entries.slice(first).map(({ text }) => text.length)]
    let total = all.reduce((sum, size) => sum + size, 0)
    let from = 0
    while (from < all.length - 1 && (all.length - from > maxEvents || total > maxBytes)) {
      total -= Number(all[from])
      from += 1
    }
    return all.slice(from)
  }

  #keep(stream: WrittenStream, sizes: number[]): void {
    stream.writtenAt = this.#input.world.now()
    if (!this.#isKnown(stream)) return
    this.#kept -= stream.kept
    stream.sizes = sizes
    stream.kept = sizes.reduce((sum, size) => sum + size, 0)
    this.#kept += stream.kept
    for (const oldest of this.#streams.values()) {
      if (this.#kept <= this.#input.limits.maxTotalBytes) return
      if (oldest !== stream && oldest.cut === undefined && oldest.sizes.length > 1) this.#shorten(oldest)
    }
  }

  /** Drops its events; that the stream is here stays known. */
  #shorten(stream: WrittenStream): void {
    this.#kept -= stream.kept
    stream.kept = 0
    stream.sizes = []
    if (stream.isEnded) return this.dropped(stream.place.stream)
    this.#add(stream, { type: 'begun' })
    stream.cut = stream.waiting.at(-1)
  }

  #isKnown(stream: WrittenStream): boolean {
    return this.#streams.get(stream.place.stream) === stream
  }

  #forget(stream: WrittenStream): void {
    if (!this.#isKnown(stream)) return
    this.#streams.delete(stream.place.stream)
    this.#due.delete(stream)
    this.#waiting -= stream.size
    this.#kept -= stream.kept
    this.#noteDrained()
  }

  #noteDrained(): void {
    if (this.#waiting > 0) return
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  /** A failed drop is not repeated: the stream expires. */
  async #drop(place: StreamPlace): Promise<void> {
    const engine = this.#input.engine()
    try {
      if (engine?.isUp === true) await engine.dropStream(place)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }
}
