import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../../runtime/time/clock.js'
import { waitWithin } from '../../../runtime/time/wait.js'
import { type EventLogLimits, LoggedStream, type StreamHome, type StreamKind } from './logged-stream.js'

/**
 * Where a stream may be taken up again, or why not: the log was lost since then, or the id is none to go on
 * from.
 */
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
export class EventLog implements StreamHome {
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

  /** Bytes that are held now, with what holding them costs. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins a stream of a session. */
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

  /** Finds the place in a session's streams that an id names. */
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

  /** Whether a GET of the session is connected. */
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

  /** Forgets what nobody has come back for in time; a request that is still worked on has time. */
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

/** Long enough that nobody finds another session with it, and nothing that leads back to the id. */
function tagOf(sessionId: string): string {
  return createHash('sha256').update(`event ${sessionId}`).digest('base64url').slice(0, 16)
}

function refused(why: string): Position {
  return { type: 'refused', why }
}
