import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../../runtime/time/clock.js'
import { waitWithin } from '../../../runtime/time/wait.js'
import type { HttpSettings } from './serve.js'

export type EventLogLimits = NonNullable<HttpSettings['resume']>

/** What began a stream: a request that is answered on it, or a GET. */
type StreamKind = 'call' | 'listen'

/** One event with the id that a reader may come back with. */
export interface LoggedEvent {
  readonly id: string
  readonly data: string
}

/** The connection that reads a stream at the moment. */
export interface StreamReader {
  /** Whether it takes this, too; one that is over or too slow leaves the stream first. */
  ready(text: string): boolean
  write(event: LoggedEvent): void
  /** Ends the connection, after this event if there is one. */
  conclude(event?: LoggedEvent): void
}

/** Where a stream may be taken up again, or why not (`lost`: with an earlier process). */
export type Position =
  | { readonly type: 'found'; readonly stream: LoggedStream; readonly after: number }
  | { readonly type: 'lost'; readonly kind: StreamKind }
  | { readonly type: 'refused'; readonly why: string }

interface SessionStreams {
  /** What ties ids to the session that they were given to. */
  readonly tag: string
  readonly streams: Map<string, LoggedStream>
}

const eventId = /^([cl])([\w-]{8})([0-9a-z]{1,11})\.([\w-]{16})\.(\d{1,15})$/

/**
 * Keeps what was written to event streams, so that a reader whose connection broke gets the rest
 * (specification: transports, resumability). An id names its stream and belongs to its session: no other
 * session finds anything by it.
 */
export class EventLog {
  readonly limits: EventLogLimits
  readonly now: () => number
  /** Tells ids of this log from those of an earlier one. */
  readonly #epoch = randomBytes(6).toString('base64url')
  readonly #sessions = new Map<string, SessionStreams>()
  /** Streams that hold bytes, the oldest first. */
  readonly #holding = new Set<LoggedStream>()
  #count = 0
  #bytes = 0
  #onFinished: (() => void) | null = null

  constructor(limits: EventLogLimits, now: () => number) {
    this.limits = limits
    this.now = now
  }

  get bytes(): number {
    return this.#bytes
  }

  open(sessionId: string, kind: StreamKind): LoggedStream {
    const session = this.#sessions.get(sessionId) ?? { tag: tagOf(sessionId), streams: new Map() }
    this.#sessions.set(sessionId, session)
    this.#count += 1
    const name = `${kind[0]}${this.#epoch}${this.#count.toString(36)}.${session.tag}`
    const stream = new LoggedStream(this, sessionId, kind, name)
    session.streams.set(name, stream)
    if (session.streams.size > this.limits.maxStreams) this.#dropOldest(session)
    return stream
  }

  /** Whether one more stream of a session costs it an older one. */
  isFull(sessionId: string): boolean {
    return (this.#sessions.get(sessionId)?.streams.size ?? 0) >= this.limits.maxStreams
  }

  find(sessionId: string, id: string): Position {
    const parts = eventId.exec(id)
    if (parts?.[4] !== tagOf(sessionId)) return refused('not an id of this session')
    const kind = parts[1] === 'c' ? 'call' : 'listen'
    if (parts[2] !== this.#epoch) return { type: 'lost', kind }
    const stream = this.#sessions.get(sessionId)?.streams.get(id.slice(0, id.lastIndexOf('.')))
    if (stream === undefined) return refused('the stream is not kept any more')
    const after = Number(parts[5])
    if (after > stream.last) return refused('an id that was never given')
    if (after < stream.trimmedTo) return refused('events after this one are not kept any more')
    return { type: 'found', stream, after }
  }

  hasListener(sessionId: string): boolean {
    for (const stream of this.#sessions.get(sessionId)?.streams.values() ?? [])
      if (stream.kind === 'listen' && stream.isRead) return true
    return false
  }

  /** Forgets a session that has ended for good. */
  forget(sessionId: string): void {
    for (const stream of this.#sessions.get(sessionId)?.streams.values() ?? []) this.drop(stream)
  }

  /** Forgets one stream; a connection that reads it goes on. */
  drop(stream: LoggedStream): void {
    const session = this.#sessions.get(stream.sessionId)
    if (session?.streams.delete(stream.name) !== true) return
    if (session.streams.size === 0) this.#sessions.delete(stream.sessionId)
    stream.dropped()
    this.finished()
  }

  /** A stream has had its last event. */
  finished(): void {
    this.#onFinished?.()
  }

  /** Resolves when no request is worked on whose client has gone and may come back, or after so many ms. */
  whenFinished(timeout: number, clock: Clock): Promise<void> {
    if (!this.#hasAbsent) return Promise.resolve()
    return waitWithin<void>({ clock, ms: timeout, late: () => {} }, (resolve) => {
      this.#onFinished = () => {
        if (!this.#hasAbsent) resolve()
      }
      return () => {
        this.#onFinished = null
      }
    })
  }

  /** Forgets what nobody has come back for in time, but no request that is worked on. */
  trim(): void {
    const oldest = this.now() - this.limits.maxAge
    for (const { streams } of this.#sessions.values())
      for (const stream of streams.values()) if (!stream.inUse && stream.leftAt < oldest) this.drop(stream)
  }

  /** Accounts for a change of what a stream holds. */
  account(stream: LoggedStream, bytes: number): void {
    this.#bytes += bytes
    if (stream.bytes === 0) this.#holding.delete(stream)
    else this.#holding.add(stream)
    for (const oldest of this.#holding) {
      if (this.#bytes <= this.limits.maxTotalBytes) break
      if (oldest !== stream) oldest.clear()
    }
  }

  get #hasAbsent(): boolean {
    for (const { streams } of this.#sessions.values())
      for (const stream of streams.values())
        if (stream.inUse && !stream.isRead && stream.canResume) return true
    return false
  }

  /** A stream that still matters is the last to go. */
  #dropOldest({ streams }: SessionStreams): void {
    const all = [...streams.values()]
    const victim = all.find((stream) => stream.ended) ?? all.find((stream) => !stream.isRead) ?? all[0]
    if (victim !== undefined) this.drop(victim)
  }
}

/** What a stream and an event cost besides their text. */
const overhead = 256

/** One event stream of a session. Without a connection it keeps events, if the client can come back. */
export class LoggedStream {
  readonly sessionId: string
  readonly kind: StreamKind
  readonly name: string
  /** The number of the last event. */
  last = 0
  /** The number of the last event that is not kept. */
  trimmedTo = 0
  bytes = 0
  /** True once the last event has been written: nothing may follow it. */
  ended = false
  /** When the last connection went. */
  leftAt: number
  readonly #log: EventLog
  readonly #events: { readonly number: number; readonly event: LoggedEvent; readonly bytes: number }[] = []
  #reader: StreamReader | null = null
  #detach: (() => void) | null = null
  /** Whether the client has an id of this stream. */
  #known = false
  #kept = true

  constructor(log: EventLog, sessionId: string, kind: StreamKind, name: string) {
    this.#log = log
    this.sessionId = sessionId
    this.kind = kind
    this.name = name
    this.leftAt = log.now()
  }

  get isRead(): boolean {
    return this.#reader !== null
  }

  get inUse(): boolean {
    return this.isRead || (this.kind === 'call' && !this.ended)
  }

  /** Whether a client that loses its connection can come back to this stream. */
  get canResume(): boolean {
    return this.#known && this.#kept
  }

  /** The id of an event without data, which only says where the stream is; `0` for the very first. */
  mark(number = ++this.last): string {
    this.#known = true
    return `${this.name}.${number}`
  }

  /** Makes this the one connection that reads the stream; a former one is ended. */
  connect(reader: StreamReader): void {
    const former = this.#reader
    this.#reader = reader
    if (former !== null && former !== reader) former.conclude()
  }

  /** `detach` is called when the stream takes no more messages of its session; a former one is called now. */
  attach(detach: () => void): void {
    this.#detach?.()
    this.#detach = detach
    if (!this.#kept) this.#undo()
  }

  leave(reader: StreamReader): void {
    if (this.#reader !== reader) return
    this.#reader = null
    this.leftAt = this.#log.now()
    if (!this.canResume) this.#release()
  }

  after(number: number): LoggedEvent[] {
    return this.#events.flatMap((entry) => (entry.number > number ? [entry.event] : []))
  }

  /** Takes one more event; false when it is dropped: the reader is too slow, or nobody can come back. */
  send(data: string): boolean {
    if (this.ended) return false
    if (this.#reader?.ready(data) === false && this.isRead) return false
    if (this.#reader === null && !this.#mayWait(data)) return false
    this.add(data)
    return true
  }

  /** Takes one more event that must not be dropped; it is lost only where nobody can come back. */
  add(data: string): void {
    if (this.ended || (this.#reader === null && !this.canResume)) return
    const event = this.#append(data)
    this.#reader?.write(event)
  }

  /** Takes the last event, if there is one; from then on there is nothing to wait for. */
  finish(data?: string): void {
    if (this.ended) return
    this.ended = true
    this.leftAt = this.#log.now()
    const reader = this.#reader
    if (reader !== null || this.canResume) {
      const event = data === undefined ? undefined : this.#append(data)
      reader?.conclude(event)
    }
    this.#log.finished()
  }

  close(): void {
    const reader = this.#reader
    if (reader === null) return
    this.leave(reader)
    reader.conclude()
  }

  clear(): void {
    this.trimmedTo = this.last
    const { bytes } = this
    this.#events.length = 0
    this.bytes = 0
    this.#log.account(this, -bytes)
  }

  dropped(): void {
    this.#kept = false
    this.clear()
    if (this.#reader === null) this.#undo()
  }

  #release(): void {
    this.#log.drop(this)
    this.#undo()
  }

  #undo(): void {
    const detach = this.#detach
    this.#detach = null
    detach?.()
  }

  /** A GET that is connected takes a message before a stream that is only kept. */
  #mayWait(data: string): boolean {
    const { maxEvents, maxBytes } = this.#log.limits
    if (!this.canResume || this.#events.length >= maxEvents) return false
    if (this.bytes + Buffer.byteLength(data) + overhead > maxBytes) return false
    return this.kind === 'call' || !this.#log.hasListener(this.sessionId)
  }

  #append(data: string): LoggedEvent {
    this.last += 1
    const event = { id: `${this.name}.${this.last}`, data }
    if (this.#reader !== null) this.#known = true
    if (!this.#kept) return event
    const bytes = Buffer.byteLength(data) + overhead
    this.#events.push({ number: this.last, event, bytes })
    this.bytes += bytes
    this.#log.account(this, bytes - this.#trim())
    return event
  }

  /** Drops the oldest events beyond the limits, never the last one. Returns the bytes freed. */
  #trim(): number {
    const { maxEvents, maxBytes } = this.#log.limits
    let freed = 0
    while (this.#events.length > 1 && (this.#events.length > maxEvents || this.bytes > maxBytes)) {
      const oldest = this.#events.shift()
      if (oldest === undefined) break
      freed += oldest.bytes
      this.bytes -= oldest.bytes
      this.trimmedTo = oldest.number
    }
    return freed
  }
}

/** Ties event ids to their session, and does not reveal its id. */
function tagOf(sessionId: string): string {
  return createHash('sha256').update(`event ${sessionId}`).digest('base64url').slice(0, 16)
}

function refused(why: string): Position {
  return { type: 'refused', why }
}
