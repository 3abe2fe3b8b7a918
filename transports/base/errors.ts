import { CaduceusError } from '../../runtime/base/errors.js'

/** Every code a TransportError can have. */
export type TransportErrorCode =
  /** An option of a transport is not what it should be (`data.field`). */
  | 'BAD_OPTION'
  /**
   * The command of a stdio server does not exist (`data.command`, `data.cwd`; the cause has PATH): trying
   * again is of no use.
   */
  | 'COMMAND_NOT_FOUND'
  /** The process of a stdio server could not be started. */
  | 'SPAWN_FAILED'
  /** The process of a stdio server ended (`data.exitCode`, `data.signal`, `data.stderr`: its last lines). */
  | 'PROCESS_EXITED'
  /** No connection came about. */
  | 'CONNECT_FAILED'
  /** A connection, or the response to a request, ended before the answer. */
  | 'CONNECTION_LOST'
  /** The server does not know the session, or it belongs to somebody else. */
  | 'SESSION_NOT_FOUND'
  /** The server has as many sessions as it may: HTTP 503. */
  | 'SESSION_LIMIT'
  /** This client has as many sessions, connections or requests as it may: HTTP 429. */
  | 'CLIENT_LIMIT'
  /**
   * The listener holds as many bytes of messages as it may: HTTP 503, and 429 where they are of one client
   * (`data.client`). For `http()`, answers that are still coming are too much together.
   */
  | 'BYTES_LIMIT'
  /** The server works on as many requests or streams of 2026-07-28 as it may: HTTP 503. */
  | 'EXCHANGE_LIMIT'
  /**
   * What the nodes of a cluster share cannot be reached at the moment: HTTP 503 with `Retry-After`. What was
   * asked of it may have been done (`data.engine`).
   */
  | 'CLUSTER_UNAVAILABLE'
  /** A request names another revision than its session has: HTTP 400. */
  | 'REVISION_MISMATCH'
  /** Nobody is known to have sent the request: HTTP 401. */
  | 'UNAUTHORIZED'
  /** The `authenticate` of a listener did not answer in time: HTTP 503. */
  | 'AUTHENTICATE_TIMEOUT'
  /** The authorization server that a token is checked with cannot be asked: HTTP 503. */
  | 'AUTHORIZATION_UNAVAILABLE'
  /** The `Authorization` header is not written as it should be: HTTP 400. */
  | 'BAD_AUTHORIZATION'
  /** The token is good, but not for this: HTTP 403 with the scope that is needed. */
  | 'INSUFFICIENT_SCOPE'
  /** The server answered with an HTTP status that is none of the protocol (`data.status`). */
  | 'HTTP_STATUS'
  /** The server answered with something that the transport cannot use. */
  | 'BAD_RESPONSE'
  /** A message of the far side has more bytes than it may; trying again is of no use. */
  | 'MESSAGE_TOO_LONG'
  /** A message could not be sent, or not be answered in time. */
  | 'SEND_FAILED'
  /** There is no connection that could be sent on. */
  | 'NOT_OPEN'
  /** A port, or the place of another listener, could not be taken. */
  | 'LISTEN_FAILED'
  /** The program at the other end of a local socket shares no client of that name. */
  | 'NOT_SHARED'

/** The error class of `caduceus/transports`. */
export class TransportError extends CaduceusError<TransportErrorCode> {}

/** The message that clients get for a temporary failure; details are for the operator. */
export const notNow = 'The server cannot serve this at the moment: try once more'

/** Makes every BAD_OPTION of this floor, so that `data.field` is never forgotten. */
export function optionError(field: string, problem: string, cause?: unknown): TransportError {
  return new TransportError('BAD_OPTION', problem, { ...(cause !== undefined && { cause }), data: { field } })
}
