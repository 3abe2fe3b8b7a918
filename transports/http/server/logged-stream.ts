/** What a log may hold. */
export interface EventLogLimits {
  /** Events of one stream that are kept. */
  readonly maxEvents: number
  /** Bytes of one stream that are kept. */
  readonly maxBytes: number
  /** Bytes that are kept for all streams; beyond that, the oldest stream loses its events. */
  readonly maxTotalBytes: number
  /** Milliseconds a stream is kept that nobody reads. */
  readonly maxAge: number
  /** Streams of one session that are kept. */
  readonly maxStreams: number
}

/** What began a stream: a request that is answered on it, or a GET. */
export type StreamKind = 'call' | 'listen'

/** One event with the id that a reader may come back with. */
export interface LoggedEvent {
  readonly id: string
  readonly data: string
}

/** The connection that reads a stream at the moment. */
export interface StreamReader {
  /**
   * Whether it may be given this, too. One that is over, or cuts itself off for being too slow, leaves the
   * stream first.
   */
  ready(text: string): boolean
  write(event: LoggedEvent): void
  /** Ends the connection, after this event if there is one. */
  conclude(event?: LoggedEvent): void
}

/** What a stream is told by the log it belongs to. */
export interface StreamHome {
  readonly limits: EventLogLimits
  now(): number
  /** Whether a GET of the session is connected. */
  hasListener(sessionId: string): boolean
  /** Forgets one stream; a connection that reads it goes on. */
  drop(stream: LoggedStream): void
  /** A stream has had its last event. */
  finished(): void
  /** Accounts for a change of what a stream holds. */
  account(stream: LoggedStream, bytes: number): void
}

/** What a stream and an event cost besides their text. */
const overhead = 256

/**
 * One event stream of a session, through all the connections that read it. Without a connection it keeps what
 * comes, as long as the client has an id to come back with and there is room.
 */
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
  readonly #log: StreamHome
  readonly #events: { readonly number: number; readonly event: LoggedEvent; readonly bytes: number }[] = []
  #reader: StreamReader | null = null
  #detach: (() => void) | null = null
  /** Whether the client has an id of this stream. */
  #known = false
  #kept = true

  constructor(log: StreamHome, sessionId: string, kind: StreamKind, name: string) {
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

  /**
   * What to do when the stream takes no more messages of its session; replaces the former one, which is done.
   */
  attach(detach: () => void): void {
    this.#detach?.()
    this.#detach = detach
    if (!this.#kept) this.#undo()
  }

  /** The connection is gone. */
  leave(reader: StreamReader): void {
    if (this.#reader !== reader) return
    this.#reader = null
    this.leftAt = this.#log.now()
    if (!this.canResume) this.#release()
  }

  /** Events after the one with this number. */
  after(number: number): LoggedEvent[] {
    return this.#events.flatMap((entry) => (entry.number > number ? [entry.event] : []))
  }

  /**
   * Takes one more event; false when it is dropped, for a reader who is too slow, or nobody who could come
   * back.
   */
  send(data: string): boolean {
    if (this.ended) return false
    if (this.#reader?.ready(data) === false && this.isRead) return false
    if (this.#reader === null && !this.#mayWait(data)) return false
    this.add(data)
    return true
  }

  /** Takes one more event that is not to be dropped: it is lost only where nobody can have it. */
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

  /** Ends the connection, but not the stream. */
  close(): void {
    const reader = this.#reader
    if (reader === null) return
    this.leave(reader)
    reader.conclude()
  }

  /** Loses its events. */
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

  /** Somebody who is there comes before somebody who may come back. */
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

  /**
   * Lets go of the oldest events beyond the limits, though never of the last one. Returns how many bytes that
   * were.
   */
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
