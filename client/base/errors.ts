import { CaduceusError, messageOf } from '../../runtime/base/errors.js'
import type { ClientState } from './state.js'

/** Every code a ClientError can have. */
export type ClientErrorCode =
  /** An option or argument is not what it should be (`data.field`). */
  | 'BAD_OPTION'
  /**
   * The client, or so many of a pool, were not ready in time (`ready`); it had no room or crashed while
   * `findClient` asked it; or the call did not want to wait (`wait: false`).
   */
  | 'NOT_READY'
  /** The registry has no client of that name. */
  | 'NOT_FOUND'
  /** The client cannot connect, and trying again is of no use; or the server refused the handshake. */
  | 'CONNECT_FAILED'
  /** The connection ended while the call was in flight; `data.sent` says whether it had been sent. */
  | 'CONNECTION_LOST'
  /** The server ended or forgot the session while the call was in flight. */
  | 'SESSION_NOT_FOUND'
  /** This one request could not be sent or answered; the connection goes on. */
  | 'REQUEST_FAILED'
  /**
   * The call was not answered, or not sent (`data.sent`), within its `timeout`; or no member of a pool was
   * free in time.
   */
  | 'TIMEOUT'
  /** The `signal` of the call was aborted. */
  | 'CANCELLED'
  /**
   * As many calls wait or are in flight as there may be (`maxCalls`), or wait for a member of a pool
   * (`maxWaiting`).
   */
  | 'QUEUE_FULL'
  /**
   * A member of a pool was checked out for longer than `maxLease`: calls through that lease are refused, and
   * those in flight given up.
   */
  | 'LEASE_EXPIRED'
  /** The client crashed too often and was not started again. */
  | 'GAVE_UP'
  /** The client was closed. */
  | 'CLOSED'
  /** The answer of the server is no result of the method. */
  | 'INVALID_RESPONSE'
  /** The server speaks no revision that this client speaks. */
  | 'NO_COMMON_REVISION'
  /** The list of the server has more pages than `maxPages`. */
  | 'TOO_MANY_PAGES'
  /** The server asked again and again instead of answering (2026-07-28, MRTR). */
  | 'TOO_MANY_ROUNDS'
  /** A request that the server made during the call could not be answered: a handler of yours failed. */
  | 'UNANSWERED'
  /** The server knows the task no more, or never did: `data.taskId`. */
  | 'TASK_LOST'
  /** Somebody else has cancelled the task that a call waits for: `data.taskId`. */
  | 'TASK_CANCELLED'
  /** What a handler of yours answered does not fit the request of the server. */
  | 'BAD_ANSWER'
  /** The structured content of a result does not fit the output schema of its tool (`data.issues`). */
  | 'BAD_OUTPUT'
  /**
   * A file of a skill is not what the entry of the skill says, or is not among its files (`data.path`), or the
   * entry itself is wrong; `data.uri` has the skill. Nothing of it may be used: `getSkill` gets the entry anew.
   */
  | 'BAD_SKILL'
  /** The server does not offer this. */
  | 'NOT_SUPPORTED'
  /**
   * The authorization server, or the person who signs in, refused; or the authorization is set up wrongly.
   */
  | 'AUTHORIZATION_FAILED'
  /** A person has to sign in, and there is no way to ask: the message says what to do. */
  | 'SIGN_IN_NEEDED'

/**
 * Errors of `caduceus/client`. Those of calls have `data.sent`: the request left, so the server may have
 * acted. An error that the server answers is an McpError.
 */
export class ClientError extends CaduceusError<ClientErrorCode> {}

/** Makes every BAD_OPTION of this floor, so that `data.field` is never forgotten. */
export function optionError(field: string, problem: string, cause?: unknown): ClientError {
  return new ClientError('BAD_OPTION', problem, {
    ...(cause !== undefined && { cause }),
    data: { field, sent: false },
  })
}

/** The facts that the error of every call has. */
export interface CallErrorData {
  readonly sent: boolean
  readonly [fact: string]: unknown
}

/** The error of one call, with the facts of its cause (exit code, status, last lines of standard error). */
export function callError(
  code: ClientErrorCode,
  message: string,
  details: { readonly sent: boolean; readonly retryable?: boolean; readonly cause?: unknown },
): ClientError {
  const { sent, retryable = true, cause } = details
  const facts = cause instanceof CaduceusError && isFacts(cause.data) ? cause.data : {}
  const data: CallErrorData = { ...facts, sent }
  return new ClientError(code, message, { data, retryable, ...(cause === undefined ? {} : { cause }) })
}

/** What a call waited for: the client in this phase, or one of its `busy` places. */
export interface Obstacle extends Pick<ClientState, 'phase' | 'reason'> {
  readonly busy?: number
}

/** The time was over before the call was sent, or sent again (`sent`). */
export function unsentError(
  { method, call: { timeout } }: { readonly method: string; readonly call: { readonly timeout: number } },
  { phase, reason, busy }: Obstacle,
  sent: boolean,
): ClientError {
  const stage = phase === 'initializing' ? 'initializing: the server has not answered yet' : phase
  const queue = busy === undefined ? undefined : `${busy} in flight already, as many as maxInFlight allows`
  const why = queue ?? (reason === undefined ? stage : messageOf(reason))
  const what = sent ? 'its answer got lost, and it was not sent again' : 'not sent'
  return callError('TIMEOUT', `${method}: ${what} within ${timeout} ms (${why})`, { sent, cause: reason })
}

/** The caller gave up; nothing was sent. */
export function givenUpError(what: string, cause: unknown): ClientError {
  const details = { sent: false, retryable: false, cause }
  return callError('CANCELLED', `${what}: the caller gave it up (${messageOf(cause)})`, details)
}

/** For calls with `wait: false`. */
export function notReadyError(
  { method }: { readonly method: string },
  reason: Error | undefined,
  sent: boolean,
): ClientError {
  const why = reason === undefined ? '' : ` (${messageOf(reason)})`
  return callError('NOT_READY', `${method}: there is no connection${why}`, { sent, cause: reason })
}

export function failedError(method: string, reason: Error | undefined, sent = false): ClientError {
  const code = reason instanceof ClientError ? reason.code : 'CONNECT_FAILED'
  return callError(code, `${method}: ${messageOf(reason)}`, { sent, retryable: false, cause: reason })
}

/** With `sent: true`: an earlier attempt may have reached the server. */
export function sentBefore(error: unknown): unknown {
  if (!(error instanceof ClientError) || !isFacts(error.data) || error.data.sent !== false) return error
  const { code, message, retryable, cause, data } = error
  return new ClientError(code, message, { data: { ...data, sent: true }, retryable, cause })
}

function isFacts(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}
