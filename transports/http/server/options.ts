import {
  badOption,
  orElse,
  type Read,
  readCount,
  readFlag,
  readGroup,
  readMs,
  readOptions,
  type ReadWith,
} from '../../base/read-option.js'
import {
  type ListenerKind,
  type ListenLimitOptions,
  listenLimits,
  listenReaders,
  type ListenOptions,
  type ListenSettingsWith,
  type ListenTimeoutOptions,
  listenTimeouts,
  readListenOptions,
  readPath,
} from '../listen/options.js'

/** How an HTTP listener is set up. */
export interface HttpServeOptions extends ListenOptions {
  /** The one path that is served. Default `/mcp`. */
  readonly path?: string
  /** Whether pages of the allowed origins are told that they may call (CORS). Default false. */
  readonly cors?: boolean
  readonly limits?: HttpLimitOptions
  readonly timeouts?: HttpTimeoutOptions
  /** How answers that take long are streamed, and kept for clients that come back. */
  readonly streams?: HttpStreamOptions
}

/** How much an HTTP listener takes at once. */
export interface HttpLimitOptions extends ListenLimitOptions {
  /** Connections; further ones are closed when they come. Default 20,000. */
  readonly connections?: number
  /**
   * Connections of one address (IPv6: of one /64); further ones are closed when they come. Not counted on a
   * server of your own, and where `trustProxy` says that all come from a proxy. Default 1,000, and as many as
   * there may be from this machine.
   */
  readonly connectionsPerClient?: number
  /**
   * Requests of one client, event streams among them; more are answered 429 with Retry-After. A client is an
   * address (behind proxies the one that `trustProxy` finds), and whoever `authenticate` finds. Default
   * 1,000, and any number from the addresses of this machine.
   */
  readonly requestsPerClient?: number
  /** Bytes that may wait on an event stream before messages are dropped or it is closed. Default 1 MiB. */
  readonly bufferedBytes?: number
}

/** How long clients of an HTTP listener may take, in milliseconds. */
export interface HttpTimeoutOptions extends ListenTimeoutOptions {
  /** For a whole request. Default 30,000. */
  readonly body?: number
}

/** How event streams are served; all times in milliseconds. */
export interface HttpStreamOptions {
  /**
   * After which a request without an answer yet gets an event stream, which can be resumed and is kept open
   * by comments. Until then the answer is plain JSON, unless something comes before it. Default 2,000.
   */
  readonly openAfter?: number
  /** After which a resumable stream is ended, to be resumed (SEP-1699). Default never. */
  readonly endAfter?: number
  /** After which 2025-11-25 clients come back to an ended stream (SEP-1699). Default 1,000. */
  readonly retryInterval?: number
  /** Between comments that keep event streams open. Default 15,000. */
  readonly commentInterval?: number
  /**
   * Whether event streams have ids and are kept: a client that lost its connection gets the rest of them
   * (`Last-Event-ID`). An object sets how much is kept. It is kept in memory, through restarts of the
   * listener, and of one of several processes. Default true.
   */
  readonly resume?: boolean | ResumeOptions
}

/** How much is kept of event streams for clients that come back. */
export interface ResumeOptions {
  /** Events of one stream. Default 1,000. */
  readonly maxEvents?: number
  /** Bytes of one stream. Default 1 MiB; the last event is kept whatever its size. */
  readonly maxBytes?: number
  /**
   * Bytes of all streams; beyond that, the oldest of sessions with more than their share lose their events.
   * Default 64 MiB.
   */
  readonly maxTotalBytes?: number
  /** Milliseconds a stream is kept that nobody reads. Default 5 min. */
  readonly maxAge?: number
  /** Streams of one session; beyond that, the oldest goes. Default 128. */
  readonly maxStreams?: number
}

/** `readAuth` reads the option `auth`. Throws BAD_OPTION. */
export function readHttpOptions(options: HttpServeOptions, readAuth: ListenerKind['readAuth']): HttpSettings {
  return readListenOptions(options, httpReaders, { name: 'serveHttp', readAuth })
}

export type HttpSettings = ListenSettingsWith<typeof httpReaders>

const resumeReaders = {
  maxEvents: orElse(readCount, 1_000),
  maxBytes: orElse(readCount, 1024 * 1024),
  maxTotalBytes: orElse(readCount, 64 * 1024 * 1024),
  maxAge: orElse(readMs, 5 * 60_000),
  maxStreams: orElse(readCount, 128),
}

/** Undefined when streams are not kept. */
const readResume: Read<ReadWith<typeof resumeReaders> | undefined> = (value, field) => {
  if (value === false) return undefined
  if (value === true) return readOptions({}, resumeReaders, field)
  if (typeof value !== 'object' || value === null) throw badOption(field, 'true, false or an object', value)
  return readOptions(value, resumeReaders, field)
}

export const httpLimits = {
  ...listenLimits,
  connections: orElse(readCount, 20_000),
  requestsPerClient: orElse(readCount, undefined),
}

export const httpTimeouts = { ...listenTimeouts, body: orElse(readMs, 30_000) }

const httpReaders = {
  path: orElse(readPath, '/mcp'),
  cors: orElse(readFlag, false),
  limits: readGroup(httpLimits),
  timeouts: readGroup(httpTimeouts),
  streams: readGroup({
    openAfter: orElse(readMs, 2_000),
    endAfter: orElse(readMs, Number.POSITIVE_INFINITY),
    retryInterval: orElse(readMs, 1_000),
    commentInterval: orElse(readMs, 15_000),
    resume: orElse(readResume, readResume(true, 'streams.resume')),
  }),
}

export const httpFields: readonly string[] = Object.keys({ ...listenReaders, ...httpReaders })
