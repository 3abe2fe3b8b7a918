import type { StreamedEvent, StreamNews } from '../../contract/shared-streams.js'
import type { EventStream, LoggedEvent, StreamReader } from './event-log.js'

/** The outcome of resuming a stream of another process. */
export type Found =
  | { readonly type: 'followed' }
  /** Nothing of it is kept. */
  | { readonly type: 'unknown' }
  /** The owner cannot be asked at the moment. */
  | { readonly type: 'unreachable' }
  | { readonly type: 'refused'; readonly why: string }
  /** The reader has left. */
  | { readonly type: 'stopped' }

interface FollowedStreamInput {
  /** Its name for the keeper of the streams. */
  readonly id: string
  readonly sessionId: string
  readonly name: string
  readonly after: number
  /** Runs what comes of news; answers for its errors. */
  readonly guarded: (fn: () => void) => void
  /** The reader has taken what came: more may be sent. */
  readonly taken: () => void
  /** Nothing more is wanted; `isTold`: nor will it come. */
  readonly left: (isTold: boolean) => void
}

type FollowNews = Extract<StreamNews, { readonly follow: string }>

/** A stream of another process, for one connection: it is there for as long as that reads it. */
export class FollowedStream implements EventStream {
  readonly sessionId: string
  readonly canResume = true
  /** Resolves once it is known whether there is anything to follow. */
  readonly found: Promise<Found>
  readonly #input: FollowedStreamInput
  #missed: readonly StreamedEvent[] = []
  #reader: StreamReader | null = null
  /** Called when the stream's process has ended; null until what was missed is with the reader. */
  #onLost: (() => void) | null = null
  #isLeft = false
  /** Set where the end came before the reader had what it missed. */
  #early: { readonly isLost: boolean } | null = null
  // assigned by the executor, which runs at once
  #resolve: (found: Found) => void = () => {}

  constructor(input: FollowedStreamInput) {
    this.#input = input
    this.sessionId = input.sessionId
    this.found = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Whether what the client has missed is all there will be. */
  get ended(): boolean {
    return this.#missed.at(-1)?.isLast === true
  }

  connect(reader: StreamReader): void {
    this.#reader = reader
  }

  leave(reader: StreamReader): void {
    if (this.#reader === reader) this.stop()
  }

  /** What the client had missed when it came back. */
  after(): readonly LoggedEvent[] {
    return this.#missed.map((event) => this.#logged(event))
  }

  /** Numbers are given where the stream began: the mark says the same place under an id of its own. */
  mark(): string {
    const { name, after, id } = this.#input
    return `${name}.${after}-${id}`
  }

  /** What was missed is with the reader; `onLost` is called when the stream's process has ended. */
  start(onLost: () => void): void {
    this.#missed = []
    this.#onLost = onLost
    if (this.#early !== null) this.#end(this.#early.isLost)
    else if (!this.#isLeft) this.#input.taken()
  }

  stop(): void {
    this.#leave(false)
    this.#resolve({ type: 'stopped' })
  }

  hear(news: FollowNews): void {
    switch (news.type) {
      case 'followed':
        this.#missed = news.events
        if (this.ended) this.#leave(true)
        return this.#resolve({ type: 'followed' })
      case 'unknown':
      case 'unreachable':
        this.#leave(true)
        return this.#resolve({ type: news.type })
      case 'unfollowed':
        this.#leave(true)
        return this.#resolve({ type: 'refused', why: news.why })
      case 'events':
        return this.#input.guarded(() => this.#give(news.events))
      case 'over':
        return this.#input.guarded(() => this.#end(news.isLost))
    }
  }

  #give(events: readonly StreamedEvent[]): void {
    for (const event of events) {
      const reader = this.#reader
      if (reader === null || this.#isLeft) return
      if (event.isLast) {
        this.#leave(true)
        return reader.conclude(this.#logged(event))
      }
      if (!reader.ready(event.data)) return this.#giveUp(reader)
      reader.write(this.#logged(event))
    }
    this.#input.taken()
  }

  /** A reader that is too slow comes back for the rest. */
  #giveUp(reader: StreamReader): void {
    if (this.#isLeft) return
    this.stop()
    reader.conclude()
  }

  #end(isLost: boolean): void {
    this.#leave(true)
    if (this.#onLost === null) this.#early = { isLost }
    else if (isLost) this.#onLost()
    else this.#reader?.conclude()
  }

  #leave(isTold: boolean): void {
    if (this.#isLeft) return
    this.#isLeft = true
    this.#input.left(isTold)
  }

  #logged({ number, data }: StreamedEvent): LoggedEvent {
    return { id: `${this.#input.name}.${number}`, data }
  }
}
