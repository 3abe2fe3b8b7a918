import type { RequestId } from '../../protocol/wire/jsonrpc.js'

/**
 * The way to where the event streams of all processes at one address are kept: what one process began, a
 * client may take up on another. What is said is plain data; it arrives in order, and all of it, for as long
 * as the process lives.
 */
export interface SharedStreams {
  /** Tells the keeper. Never throws. */
  send(report: StreamReport): void
  /** Receives messages of the keeper until the returned function is called. */
  receive(fn: (news: StreamNews) => void): () => void
}

/** A process that takes part. */
export interface StreamMember {
  receive(report: StreamReport): void
  /** The process has ended, and all that it reported was received: its streams get nothing any more. */
  gone(): void
}

/** How much is kept of event streams: see `ResumeOptions`. */
export interface EventLogLimits {
  readonly maxEvents: number
  readonly maxBytes: number
  readonly maxTotalBytes: number
  readonly maxAge: number
  readonly maxStreams: number
}

/** What began a stream: a request that is answered on it, or a GET. */
export type StreamKind = 'call' | 'listen'

/** One event of a stream. */
export interface StreamedEvent {
  /** Its place in the stream, from 1. */
  readonly number: number
  readonly data: string
  /** Nothing comes after it. */
  readonly isLast: boolean
}

/** A message of the event log of a process to the keeper. */
export type StreamReport =
  /** A log is there: its streams may be taken up elsewhere. */
  | { readonly type: 'joined'; readonly log: string; readonly limits: EventLogLimits }
  /** A log is gone, and its process goes on. */
  | { readonly type: 'left'; readonly log: string }
  | {
      readonly type: 'began'
      readonly log: string
      readonly sessionId: string
      /** The stream's name, which its event ids begin with. */
      readonly stream: string
      readonly kind: StreamKind
      /** The request that is answered on it. */
      readonly requestId?: RequestId | undefined
      /** Events up to this one are not kept. Default 0. */
      readonly after?: number | undefined
    }
  /** The next number of a stream; without data it only says where the stream is. */
  | {
      readonly type: 'event'
      readonly stream: string
      readonly number: number
      readonly data?: string | undefined
      readonly isLast?: boolean | undefined
    }
  /** A stream has ended without an event. */
  | { readonly type: 'ended'; readonly stream: string }
  /** A stream is not kept any more. */
  | { readonly type: 'dropped'; readonly stream: string }
  /** A session has ended for good. */
  | { readonly type: 'forgotten'; readonly sessionId: string }
  /** A client takes up a stream of another log, after the event with this number. */
  | {
      readonly type: 'follow'
      /** A name for it that no other log gives. */
      readonly follow: string
      readonly log: string
      readonly sessionId: string
      readonly stream: string
      readonly after: number
    }
  /** The events that were told are with the client's connection: more may be told. */
  | { readonly type: 'taken'; readonly follow: string }
  /** The connection of the reader has ended. */
  | { readonly type: 'stopped'; readonly follow: string }
  /**
   * Answers `lend`. `lost`: the stream gets no messages any more, `refused`: there is nothing to go on from.
   */
  | { readonly type: 'lent'; readonly loan: number }
  | { readonly type: 'lost'; readonly loan: number }
  | { readonly type: 'refused'; readonly loan: number; readonly why: string }
  /** A stream that was lent is read here again, or gets no messages any more (`isLost`). */
  | { readonly type: 'recalled'; readonly loan: number; readonly isLost: boolean }

/** A message of the keeper to a process. */
export type StreamNews =
  /** Answers `follow`: what the client has missed, and more to come. */
  | { readonly type: 'followed'; readonly follow: string; readonly events: readonly StreamedEvent[] }
  /** Answers `follow`: nothing of the stream is kept. */
  | { readonly type: 'unknown'; readonly follow: string }
  /** Answers `follow`: nobody can tell at the moment. */
  | { readonly type: 'unreachable'; readonly follow: string }
  /** Answers `follow`: no id to go on from. */
  | { readonly type: 'unfollowed'; readonly follow: string; readonly why: string }
  | { readonly type: 'events'; readonly follow: string; readonly events: readonly StreamedEvent[] }
  /** Nothing more comes: another connection has the stream, or its process has ended (`isLost`). */
  | { readonly type: 'over'; readonly follow: string; readonly isLost: boolean }
  /** A client takes up a stream of a log of yours elsewhere, after the event with this number. */
  | {
      readonly type: 'lend'
      readonly loan: number
      readonly log: string
      readonly sessionId: string
      readonly stream: string
      readonly after: number
    }
  /** The client's connection has got the events up to this one. */
  | { readonly type: 'read'; readonly loan: number; readonly number: number }
  /** The client's connection is over. */
  | { readonly type: 'returned'; readonly loan: number }
  /** A stream of a log of yours goes on elsewhere, as this process was taken for dead: it ends here. */
  | { readonly type: 'closed'; readonly sessionId: string; readonly stream: string }
