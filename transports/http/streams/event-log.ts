import { createHash } from 'node:crypto'
import type { Clock } from '../../../runtime/time/clock.js'
import type { World } from '../../../runtime/time/world.js'
import { TurnoverMap } from '../../../runtime/base/turnover.js'
import { waitWithin } from '../../../runtime/time/wait.js'
import type { RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { EventLogLimits, StreamKind } from '../../contract/shared-streams.js'
import { EventList, EventShelf } from './event-list.js'
import type { SharedLog } from './shared-log.js'

/** One event with the id that a reader may come back with. */
export interface LoggedEvent {
  readonly id: string
  readonly data: string
}

/** The connection that reads a stream at the moment. */
export interface StreamReader {
  /** Whether another process has the connection. Default false. */
  readonly isElsewhere?: boolean
  /** Whether it takes this, too; one that is over or too slow leaves the stream first. */
  ready(text: string): boolean
  write(event: LoggedEvent): void
  /** Ends the connection, after this event if there is one. */
  conclude(event?: LoggedEvent): void
}

/** A stream as a connection reads it, wherever it began. */
export interface EventStream {
  readonly sessionId: string
  /** Whether a client that loses its connection can come back to this stream. */
  readonly canResume: boolean
  /** Makes this the one connection that reads the stream; a former one is ended. */
  connect(reader: StreamReader): void
  leave(reader: StreamReader): void
  after(number: number): readonly LoggedEvent[]
  /** The id of an event without data, which only says where the stream is; `0` for the very first. */
  mark(number?: number): string
}

/** Where a stream of another log, perhaps of another process, may be taken up. */
export interface ForeignPosition {
  readonly type: 'foreign'
  readonly kind: StreamKind
  readonly log: string
  /** The stream's name. */
  readonly name: string
  readonly after: number
}

/** Where a stream may be taken up again, or why not. */
export type Position =
  | { readonly type: 'found'; readonly stream: LoggedStream; readonly after: number }
  | ForeignPosition
  | { readonly type: 'refused'; readonly why: string }

interface SessionStreams {
  /** Binds event ids to the session that they were given to. */
  readonly tag: string
  readonly streams: TurnoverMap<string, LoggedStream>
}

/** A suffix after `-` only makes the id of a mark unique. */
const eventId = /^(([cl])([\w-]{8})[0-9a-z]{1,11}\.([\w-]{16}))\.(\d{1,15})(?:-[\w-]{1,20})?$/

/**
 * Keeps what was written to event streams, so that a reader whose connection broke gets the rest
 * (specification: transports, resumability). An id names its stream and belongs to its session: no other
 * session finds anything by it.
 */
export class EventLog {
  readonly limits: EventLogLimits
  readonly now: () => number
  /** Tells ids of this log from those of others. */
  readonly name: string
  readonly shelf: EventShelf
  /** The logs of other processes, where several serve at one address. */
  shared: SharedLog | undefined
  readonly #sessions = new Map<string, SessionStreams>()
  #count = 0
  #onFinished: (() => void) | null = null

  constructor(limits: EventLogLimits, { now, randomBytes }: Pick<World, 'now' | 'randomBytes'>) {
    this.limits = limits
    this.now = now
    this.name = randomBytes(6).toString('base64url')
    this.shelf = new EventShelf(limits)
  }

  get bytes(): number {
    return this.shelf.bytes
  }

  /** Begins a stream, for the answer to this request if there is one. */
  open(sessionId: string, kind: StreamKind, requestId?: RequestId): LoggedStream {
    const session = this.#sessions.get(sessionId) ?? { tag: tagOf(sessionId), streams: new TurnoverMap() }
    this.#sessions.set(sessionId, session)
    this.#count += 1
    const name = `${kind[0]}${this.name}${this.#count.toString(36)}.${session.tag}`
    const stream = new LoggedStream(this, sessionId, kind, name)
    session.streams.set(name, stream)
    this.shared?.began(stream, requestId)
    if (session.streams.size > this.limits.maxStreams) this.#dropOldest(session)
    return stream
  }

  /** Whether one more stream of a session costs it an older one. */
  isFull(sessionId: string): boolean {
    return (this.#sessions.get(sessionId)?.streams.size ?? 0) >= this.limits.maxStreams
  }

  find(sessionId: string, id: string): Position {
    const [, name = '', kind, log = '', tag, number] = eventId.exec(id) ?? []
    if (tag !== tagOf(sessionId)) return refused('not an id of this session')
    const after = Number(number)
    if (log === this.name) return this.look(sessionId, name, after)
    return { type: 'foreign', kind: kind === 'c' ? 'call' : 'listen', log, name, after }
  }

  /** Where a stream of this log may be taken up. */
  look(sessionId: string, name: string, after: number): Exclude<Position, ForeignPosition> {
    const stream = this.#sessions.get(sessionId)?.streams.get(name)
    if (stream === undefined) return refused('the stream is not kept any more')
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
    this.shared?.forgotten(sessionId)
  }

  /** Forgets one stream; a connection that reads it goes on. */
  drop(stream: LoggedStream): void {
    const session = this.#sessions.get(stream.sessionId)
    if (session?.streams.delete(stream.name) !== true) return
    if (session.streams.size === 0) this.#sessions.delete(stream.sessionId)
    this.shared?.dropped(stream)
    stream.dropped()
    this.finished()
  }

  /** A stream goes on elsewhere. */
  giveUp(sessionId: string, name: string): void {
    const stream = this.#sessions.get(sessionId)?.streams.get(name)
    if (stream === undefined) return
    stream.close()
    this.drop(stream)
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

  get #hasAbsent(): boolean {
    for (const { streams } of this.#sessions.values())
      for (const stream of streams.values()) if (stream.isAwaited) return true
    return false
  }

  /** A stream that still matters is the last to go. */
  #dropOldest({ streams }: SessionStreams): void {
    const all = [...streams.values()]
    const victim = all.find((stream) => stream.ended) ?? all.find((stream) => !stream.isRead) ?? all[0]
    if (victim !== undefined) this.drop(victim)
  }
}

/** One event stream of a session. Without a connection it keeps events, if the client can come back. */
export class LoggedStream implements EventStream {
  readonly sessionId: string
  readonly kind: StreamKind
  readonly name: string
  /** The number of the last event. */
  last = 0
  /** True once the last event has been written: nothing may follow it. */
  ended = false
  /** When the last connection went. */
  leftAt: number
  readonly #log: EventLog
  readonly #events: EventList<LoggedEvent>
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
    this.#events = new EventList(log.shelf, sessionId)
  }

  /** The number of the last event that is not kept. */
  get trimmedTo(): number {
    return this.#events.trimmedTo
  }

  get isRead(): boolean {
    return this.#reader !== null
  }

  get inUse(): boolean {
    return this.isRead || (this.kind === 'call' && !this.ended)
  }

  /** Whether a request is worked on whose client is not connected here, and may come back. */
  get isAwaited(): boolean {
    const isAbsent = this.#reader === null || this.#reader.isElsewhere === true
    return this.kind === 'call' && !this.ended && isAbsent && this.canResume
  }

  get canResume(): boolean {
    return this.#known && this.#kept
  }

  /** Whether messages of the session come here. */
  get isAttached(): boolean {
    return this.#detach !== null
  }

  mark(number?: number): string {
    this.#known = true
    if (number !== undefined) return `${this.name}.${number}`
    this.last += 1
    this.#log.shared?.event(this, undefined, false)
    return `${this.name}.${this.last}`
  }

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

  /** The session, or its actor, has ended: a client that comes back attaches the stream again. */
  detached(): void {
    this.#detach = null
    this.close()
  }

  leave(reader: StreamReader): void {
    if (this.#reader !== reader) return
    this.#reader = null
    this.leftAt = this.#log.now()
    if (!this.canResume) this.#release()
  }

  after(number: number): LoggedEvent[] {
    return this.#events.after(number)
  }

  /** Whether one more event would cost none of those after this one. */
  hasRoom(data: string, number: number): boolean {
    return this.#events.hasRoom(data, number)
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
      const event = data === undefined ? undefined : this.#append(data, true)
      if (event === undefined) this.#log.shared?.ended(this)
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

  dropped(): void {
    this.#kept = false
    this.#events.clear()
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
    if (!this.canResume || !this.#events.hasRoom(data)) return false
    return this.kind === 'call' || !this.#log.hasListener(this.sessionId)
  }

  #append(data: string, isLast = false): LoggedEvent {
    this.last += 1
    const event = { id: `${this.name}.${this.last}`, data }
    if (this.#reader !== null) this.#known = true
    // before the connection has it: what a client comes back with is known elsewhere by then
    this.#log.shared?.event(this, data, isLast)
    if (this.#kept) this.#events.add(this.last, event, data)
    return event
  }
}

/** Ties event ids to their session, and does not reveal its id. */
function tagOf(sessionId: string): string {
  return createHash('sha256').update(`event ${sessionId}`).digest().toString('base64url', 0, 12)
}

function refused(why: string): { readonly type: 'refused'; readonly why: string } {
  return { type: 'refused', why }
}
