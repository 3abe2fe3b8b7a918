import { errorCodes } from '../../../protocol/wire/errors.js'
import { buildError, type RequestId } from '../../../protocol/wire/jsonrpc.js'
import type {
  EventLogLimits,
  StreamedEvent,
  StreamKind,
  StreamMember,
  StreamNews,
  StreamReport,
} from '../../contract/shared-streams.js'
import { EventList, EventShelf } from './event-list.js'

type Report<Type extends StreamReport['type']> = Extract<StreamReport, { readonly type: Type }>

interface Member {
  readonly tell: (news: StreamNews) => void
  readonly logs: Map<string, Log>
  /** The streams of others that its clients have taken up, by the names that it gave them. */
  readonly follows: Map<string, Follower>
}

/** An event log of a process. */
interface Log {
  readonly name: string
  readonly member: Member
  readonly streams: Map<string, Stream>
}

interface Stream {
  readonly name: string
  readonly sessionId: string
  readonly kind: StreamKind
  readonly requestId: RequestId | undefined
  readonly events: EventList<StreamedEvent>
  /** Where it is written; null once that is gone. */
  log: Log | null
  last: number
  isEnded: boolean
  follower: Follower | null
  /** When it was left alone by its log. */
  leftAt: number
}

/** A connection of one process that takes up a stream of another. */
interface Follower {
  readonly member: Member
  readonly id: string
  readonly sessionId: string
  readonly name: string
  /** The number under which the stream's log lends it, if that is there. */
  readonly loan: number
  owner: Log | null
  /** Null until the log has lent it. */
  stream: Stream | null
  /** The number of the last event that was told. */
  position: number
  /** Whether what was told is still on its way. */
  isBusy: boolean
  /** Whether nothing comes any more. */
  isLost: boolean
}

/** Gap in event numbers after a crash: events that we never received may have been sent. */
const unheard = 1_000_000
const lostCall = 'The process that worked on it has ended: try once more'

/**
 * Keeps the event streams of all processes at one address, and passes on what one of them writes to the one
 * where the client is. It has neither clock nor connections of its own: `trim` is to be called now and then.
 */
export class StreamArchive {
  readonly limits: EventLogLimits
  readonly now: () => number
  readonly #shelf: EventShelf
  readonly #members = new Set<Member>()
  readonly #logs = new Map<string, Log>()
  /** By session and name; without those that are gone for new readers. */
  readonly #sessions = new Map<string, Map<string, Stream>>()
  readonly #loans = new Map<number, Follower>()
  #count = 0

  constructor(limits: EventLogLimits, now: () => number) {
    this.limits = limits
    this.now = now
    this.#shelf = new EventShelf(limits)
  }

  /** The bytes of all events that are kept. */
  get bytes(): number {
    return this.#shelf.bytes
  }

  /** Lets a process take part; `tell` brings it the news, in order. */
  join(tell: (news: StreamNews) => void): StreamMember {
    const member: Member = { tell, logs: new Map(), follows: new Map() }
    this.#members.add(member)
    return {
      receive: (report) => {
        if (this.#members.has(member)) this.#receive(member, report)
      },
      gone: () => {
        this.#members.delete(member)
        for (const follower of [...member.follows.values()]) this.#remove(follower)
        for (const log of [...member.logs.values()]) this.#close(log)
      },
    }
  }

  /** What is kept of a stream: its events after the one with the number `after`. */
  kept(sessionId: string, stream: string): { after: number; events: readonly StreamedEvent[] } | undefined {
    const events = this.#sessions.get(sessionId)?.get(stream)?.events
    return events && { after: events.trimmedTo, events: events.after(events.trimmedTo) }
  }

  /** Forgets what nobody has come back for in time. Streams of a process that lives it drops itself. */
  trim(): void {
    const oldest = this.now() - this.limits.maxAge
    for (const streams of this.#sessions.values())
      for (const stream of streams.values())
        if (stream.log === null && stream.follower === null && stream.leftAt < oldest) this.#drop(stream)
  }

  #receive(member: Member, report: StreamReport): void {
    switch (report.type) {
      case 'joined': {
        const log: Log = { name: report.log, member, streams: new Map() }
        member.logs.set(report.log, log)
        this.#logs.set(report.log, log)
        return
      }
      case 'left': {
        const log = member.logs.get(report.log)
        return log === undefined ? undefined : this.#close(log)
      }
      case 'began':
        return this.#begin(member.logs.get(report.log), report)
      case 'event':
        return this.#append(streamOf(member, report.stream), report)
      case 'ended':
        return this.#finish(streamOf(member, report.stream))
      case 'dropped': {
        const stream = streamOf(member, report.stream)
        return stream === undefined ? undefined : this.#drop(stream)
      }
      case 'forgotten':
        for (const stream of this.#sessions.get(report.sessionId)?.values() ?? []) this.#drop(stream)
        return
      case 'follow':
        return this.#follow(member, report)
      case 'taken':
        return this.#taken(member.follows.get(report.follow))
      case 'stopped': {
        const follower = member.follows.get(report.follow)
        return follower === undefined ? undefined : this.#remove(follower)
      }
      case 'lent':
      case 'lost':
      case 'refused':
      case 'recalled': {
        const follower = this.#loans.get(report.loan)
        return follower?.owner?.member === member ? this.#answer(follower, report) : undefined
      }
    }
    report satisfies never
  }

  #begin(log: Log | undefined, report: Report<'began'>): void {
    if (log === undefined) return
    const { stream: name, sessionId, kind, requestId, after = 0 } = report
    const streams = this.#sessions.get(sessionId) ?? new Map<string, Stream>()
    this.#sessions.set(sessionId, streams)
    const events = new EventList<StreamedEvent>(this.#shelf, sessionId)
    events.clear(after)
    const state = { log, last: after, isEnded: false, follower: null, leftAt: this.now() }
    const stream: Stream = { name, sessionId, kind, requestId, events, ...state }
    streams.set(name, stream)
    log.streams.set(name, stream)
    if (streams.size > this.limits.maxStreams) this.#dropOldest(streams)
  }

  #append(stream: Stream | undefined, { number, data, isLast = false }: Report<'event'>): void {
    if (stream === undefined || stream.isEnded) return
    // an event that did not reach us must not be missed in silence
    if (number !== stream.last + 1) stream.events.clear(number - 1)
    stream.last = number
    stream.isEnded = isLast
    if (data !== undefined) stream.events.add(number, { number, data, isLast }, data)
    this.#pass(stream.follower)
  }

  #finish(stream: Stream | undefined): void {
    if (stream === undefined) return
    stream.isEnded = true
    this.#pass(stream.follower)
  }

  /** Its streams get nothing any more: a request among them is answered with an error. */
  #close(log: Log): void {
    log.member.logs.delete(log.name)
    this.#logs.delete(log.name)
    for (const stream of log.streams.values()) {
      stream.log = null
      stream.leftAt = this.now()
      if (!stream.isEnded && stream.kind === 'call') this.#lose(stream)
    }
    for (const follower of [...this.#loans.values()]) {
      if (follower.owner !== log) continue
      this.#loans.delete(follower.loan)
      follower.owner = null
      if (follower.stream === null) this.#give(follower)
      else this.#pass(follower)
    }
  }

  #lose(stream: Stream): void {
    if (stream.requestId === undefined) return this.#finish(stream)
    const error = { code: errorCodes.internalError, message: lostCall, data: { retryable: true } }
    const data = JSON.stringify(buildError(stream.requestId, error))
    const number = stream.last + unheard
    stream.last = number
    stream.isEnded = true
    stream.events.add(number, { number, data, isLast: true }, data)
  }

  /** No other client finds it; one that reads it goes on. */
  #drop(stream: Stream): void {
    const streams = this.#sessions.get(stream.sessionId)
    if (streams?.get(stream.name) === stream) streams.delete(stream.name)
    if (streams?.size === 0) this.#sessions.delete(stream.sessionId)
    if (stream.follower === null) this.#forget(stream)
  }

  #forget(stream: Stream): void {
    stream.log?.streams.delete(stream.name)
    stream.events.clear(stream.last)
  }

  /** One that still matters is the last to go. */
  #dropOldest(streams: ReadonlyMap<string, Stream>): void {
    const all = [...streams.values()].filter(({ follower }) => follower === null)
    const victim = all.find(({ log, isEnded }) => log === null || isEnded) ?? all[0]
    if (victim !== undefined) this.#drop(victim)
  }

  /** First the log is asked for it: by its answer, all that the client can have seen has come here. */
  #follow(member: Member, { follow: id, log, sessionId, stream: name, after }: Report<'follow'>): void {
    this.#count += 1
    const loan = this.#count
    const owner = this.#logs.get(log) ?? null
    const state = { owner, stream: null, position: after, isBusy: false, isLost: false }
    const follower: Follower = { member, id, sessionId, name, loan, ...state }
    member.follows.set(id, follower)
    if (owner === null) return this.#give(follower)
    this.#loans.set(loan, follower)
    owner.member.tell({ type: 'lend', loan, log, sessionId, stream: name, after })
  }

  #answer(follower: Follower, report: Report<'lent' | 'lost' | 'refused' | 'recalled'>): void {
    if (report.type === 'refused') {
      this.#remove(follower)
      return follower.member.tell({ type: 'unfollowed', follow: follower.id, why: report.why })
    }
    if (report.type === 'lent') return this.#give(follower)
    this.#loans.delete(follower.loan)
    follower.owner = null
    if (report.type === 'lost') {
      follower.isLost = true
      this.#give(follower)
    } else if (report.isLost) {
      follower.isLost = true
      this.#pass(follower)
    } else this.#end(follower, false)
  }

  /** What a client has missed, if that is all there. */
  #give(follower: Follower): void {
    const { member, id, sessionId, name, position } = follower
    const stream = this.#sessions.get(sessionId)?.get(name)
    const why = stream === undefined ? undefined : problemOf(stream, position)
    if (stream === undefined || why !== undefined) {
      this.#remove(follower)
      return member.tell(
        why === undefined ? { type: 'unknown', follow: id } : { type: 'unfollowed', follow: id, why },
      )
    }
    if (stream.follower !== null) this.#end(stream.follower, false)
    stream.follower = follower
    follower.stream = stream
    follower.isBusy = true
    const events = take(follower, stream)
    member.tell({ type: 'followed', follow: id, events })
    if (events.at(-1)?.isLast === true) this.#remove(follower)
  }

  #taken(follower: Follower | undefined): void {
    if (follower === undefined) return
    const { owner, loan, position } = follower
    follower.isBusy = false
    owner?.member.tell({ type: 'read', loan, number: position })
    this.#pass(follower)
  }

  /** What waits goes on its way, all at once, when nothing is. */
  #pass(follower: Follower | null): void {
    const stream = follower?.stream
    if (follower === null || stream === undefined || stream === null || follower.isBusy) return
    if (follower.position < stream.events.trimmedTo) return this.#end(follower, false)
    const events = take(follower, stream)
    if (events.length > 0) {
      follower.isBusy = true
      follower.member.tell({ type: 'events', follow: follower.id, events })
      if (events.at(-1)?.isLast === true) this.#remove(follower)
    } else if (stream.isEnded) this.#end(follower, false)
    else if (follower.isLost || stream.log === null) this.#end(follower, true)
  }

  #end(follower: Follower, isLost: boolean): void {
    this.#remove(follower)
    follower.member.tell({ type: 'over', follow: follower.id, isLost })
  }

  #remove(follower: Follower): void {
    const { member, id, loan, owner, stream } = follower
    member.follows.delete(id)
    if (this.#loans.delete(loan)) owner?.member.tell({ type: 'returned', loan })
    if (stream?.follower !== follower) return
    stream.follower = null
    stream.leftAt = this.now()
    if (this.#sessions.get(stream.sessionId)?.get(stream.name) !== stream) this.#forget(stream)
  }
}

function streamOf({ logs }: Member, name: string): Stream | undefined {
  for (const { streams } of logs.values()) {
    const stream = streams.get(name)
    if (stream !== undefined) return stream
  }
  return undefined
}

/** Moves a follower to the end of its stream, and answers what it has not got. */
function take(follower: Follower, { events }: Stream): readonly StreamedEvent[] {
  const missed = events.after(follower.position)
  follower.position = missed.at(-1)?.number ?? follower.position
  return missed
}

/** Why nothing comes after this event, if so. */
function problemOf({ events, isEnded, last }: Stream, after: number): string | undefined {
  if (after < events.trimmedTo) return 'events after this one are not kept any more'
  if (isEnded && after > last) return 'an id that was never given'
  return isEnded && events.after(after).length === 0 ? 'nothing comes after this event' : undefined
}
