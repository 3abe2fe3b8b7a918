import type { RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { SharedStreams, StreamNews } from '../../contract/shared-streams.js'
import type { EventLog, ForeignPosition, LoggedEvent, LoggedStream, StreamReader } from './event-log.js'
import { FollowedStream } from './followed-stream.js'

/** Has other processes know the streams of a log. */
export function shareLog(log: EventLog, streams: SharedStreams): SharedLog {
  return new SharedLog(log, streams)
}

/**
 * An event log's part in what several processes keep together: tells of its streams, lends them to clients
 * that come back elsewhere, and takes up the streams of other logs.
 */
export class SharedLog {
  readonly streams: SharedStreams
  readonly #log: EventLog
  readonly #followed = new Map<string, FollowedStream>()
  readonly #loans = new Map<number, Loan>()
  readonly #undo: () => void
  #count = 0

  constructor(log: EventLog, streams: SharedStreams) {
    this.#log = log
    this.streams = streams
    log.shared = this
    this.#undo = streams.receive((news) => this.#hear(news))
    streams.send({ type: 'joined', log: log.name, limits: log.limits })
  }

  /** The log is not used any more. */
  close(): void {
    this.streams.send({ type: 'left', log: this.#log.name })
    this.#undo()
    for (const stream of [...this.#followed.values()]) stream.stop()
  }

  began({ sessionId, name, kind }: LoggedStream, requestId: RequestId | undefined): void {
    this.streams.send({ type: 'began', log: this.#log.name, sessionId, stream: name, kind, requestId })
  }

  /** A stream has got its next number. */
  event({ name, last }: LoggedStream, data: string | undefined, isLast: boolean): void {
    this.streams.send({ type: 'event', stream: name, number: last, data, isLast })
  }

  ended({ name }: LoggedStream): void {
    this.streams.send({ type: 'ended', stream: name })
  }

  dropped({ name }: LoggedStream): void {
    this.streams.send({ type: 'dropped', stream: name })
  }

  forgotten(sessionId: string): void {
    this.streams.send({ type: 'forgotten', sessionId })
  }

  /** Takes up a stream of another log; what comes of it runs within `guarded`. */
  follow(
    sessionId: string,
    { name, log, after }: ForeignPosition,
    guarded: (fn: () => void) => void,
  ): FollowedStream {
    this.#count += 1
    const id = `${this.#log.name}${this.#count.toString(36)}`
    const stream = new FollowedStream({
      id,
      sessionId,
      name,
      after,
      guarded,
      taken: () => this.streams.send({ type: 'taken', follow: id }),
      left: (isTold) => {
        this.#followed.delete(id)
        if (!isTold) this.streams.send({ type: 'stopped', follow: id })
      },
    })
    this.#followed.set(id, stream)
    this.streams.send({ type: 'follow', follow: id, log, sessionId, stream: name, after })
    return stream
  }

  /** A stream that was lent is read here again. */
  recall(loan: Loan): void {
    if (!this.#loans.delete(loan.number)) return
    const { stream, number } = loan
    // nothing comes any more: it is kept for as long as a client may come back
    if (stream.ended) return stream.leave(loan)
    const isLost = stream.kind === 'listen' && !stream.isAttached
    this.streams.send({ type: 'recalled', loan: number, isLost })
  }

  #hear(news: StreamNews): void {
    switch (news.type) {
      case 'lend':
        return news.log === this.#log.name ? this.#lend(news) : undefined
      case 'read':
        return this.#loans.get(news.loan)?.read(news.number)
      case 'returned':
        return this.#return(news.loan)
      case 'closed':
        return this.#log.giveUp(news.sessionId, news.stream)
      default:
        return this.#followed.get(news.follow)?.hear(news)
    }
  }

  #lend({ loan, sessionId, stream: name, after }: StreamNews & { readonly type: 'lend' }): void {
    const position = this.#log.look(sessionId, name, after)
    if (position.type === 'refused') return this.streams.send({ type: 'refused', loan, why: position.why })
    const { stream } = position
    // the session has ended, or has moved on: nothing comes here any more
    if (stream.kind === 'listen' && !stream.isAttached) return this.streams.send({ type: 'lost', loan })
    if (!stream.ended) {
      const reader = new Loan(this, loan, stream, after)
      this.#loans.set(loan, reader)
      stream.connect(reader)
    }
    this.streams.send({ type: 'lent', loan })
  }

  #return(number: number): void {
    const loan = this.#loans.get(number)
    if (loan === undefined) return
    this.#loans.delete(number)
    loan.stream.leave(loan)
  }
}

/** The reader of a stream whose client is connected to another process, which gets the events by itself. */
class Loan implements StreamReader {
  readonly isElsewhere = true
  readonly number: number
  readonly stream: LoggedStream
  readonly #shared: SharedLog
  /** The number of the last event that the connection has got. */
  #read: number

  constructor(shared: SharedLog, number: number, stream: LoggedStream, read: number) {
    this.#shared = shared
    this.number = number
    this.stream = stream
    this.#read = read
  }

  /** What is on its way may have as many bytes as are kept. */
  ready(text: string): boolean {
    return this.stream.hasRoom(text, this.#read)
  }

  write(_event: LoggedEvent): void {}

  conclude(): void {
    this.#shared.recall(this)
  }

  read(number: number): void {
    this.#read = number
  }
}
