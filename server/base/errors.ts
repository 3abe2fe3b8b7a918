import { buildError, type JsonRpcErrorResponse, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { CaduceusError, type ErrorDetails, messageOf } from '../../runtime/base/errors.js'

/** Every code a ServerError can have. */
export type ServerErrorCode =
  /**
   * A tool, resource, prompt or server is defined wrongly; the message names it and the field (`data.field`).
   */
  | 'BAD_DEFINITION'
  /** An option of a server, an engine or a `ctx` function is wrong (`data.field`). */
  | 'BAD_OPTION'
  /** A key or value cannot be kept with a session (`data.key`). */
  | 'BAD_STATE'
  /** A handler used session state in a revision without sessions (2026-07-28). */
  | 'NO_SESSION'
  /** A handler returned something that cannot be sent as a result. */
  | 'BAD_RESULT'
  /**
   * The thread or process of an isolated handler ended before it had answered (`data.kind`, `data.code`,
   * `data.signal`; `data.why` is `memory` if it took too much): with `data.sent` part of the work may be
   * done.
   */
  | 'WORKER_ENDED'
  /** A path leads out of its allowed folders. */
  | 'OUTSIDE_ROOTS'
  /** A tool threw `ToolError`: the model gets its text, with `isError`. */
  | 'TOOL_FAILED'
  | AskErrorCode

/** Why a question to the client has no answer. */
export type AskErrorCode =
  /** The client, or its revision, lacks the capability for this question (`data.capability`). */
  | 'MISSING_CAPABILITY'
  /** The client has not finished its handshake: until then only `ping` can be asked. */
  | 'NOT_INITIALIZED'
  /** Nobody reads the answers of this request any more, or it has ended. */
  | 'CLIENT_GONE'
  /** The limit of open questions, or of questions of this call, is reached. */
  | 'TOO_MANY_QUESTIONS'
  /** The client did not answer in time (`timeouts.question`). */
  | 'ASK_TIMEOUT'
  /** The client answered with an error (`data.code`). */
  | 'ASK_REFUSED'
  /** The client's answer is malformed, or does not fit the form. */
  | 'BAD_ANSWER'

/** The error class of `caduceus/server`. */
export class ServerError extends CaduceusError<ServerErrorCode> {}

/**
 * The error for a wrong option or argument. Every BAD_OPTION of this floor is made here, with `data.field`.
 */
export function optionError(field: string, problem: string, cause?: unknown): ServerError {
  return new ServerError('BAD_OPTION', problem, { ...(cause !== undefined && { cause }), data: { field } })
}

/**
 * A tool throws this to tell the model why it failed: the call is answered with `isError` and this text.
 * Thrown by a prompt, a resource, a completer or a method, it is JSON-RPC error -32603 with this text, and
 * `TOOL_FAILED` in `data.code`. Any other error is a crash of the call, and its message is not sent: of a tool
 * that is a result with `isError` and the number of the report, too. Made from an error instead of a text, it takes over the message and keeps the error as its cause.
 */
export class ToolError extends ServerError {
  constructor(message: string | Error, details: ErrorDetails = {}) {
    const cause = message instanceof Error ? { cause: message } : {}
    super('TOOL_FAILED', messageOf(message), { ...cause, ...details })
  }
}

/**
 * A question to the client (`ctx.elicit`, `ctx.sample`, `ctx.roots`, `ctx.ping`) has no answer. `code` says
 * why: `MISSING_CAPABILITY` has `data.capability`, `ASK_REFUSED` has the client's code in `data.code`. A tool
 * that does not catch it is answered with `isError` and its message. In 2026-07-28 a missing capability is
 * error -32021 instead, with `data.requiredCapabilities` of this error.
 */
export class AskError extends ServerError {
  constructor(code: AskErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message, details)
  }
}

/**
 * Whether a client named a path outside its roots (`resolveInside`): a mistake of the client, not a crash.
 */
export function isOutsideRoots(error: unknown): error is ServerError {
  return error instanceof ServerError && error.code === 'OUTSIDE_ROOTS'
}

/**
 * Whether a caller is told of it, as it is no crash. WORKER_ENDED: an isolated handler was lost with its thread
 * or process. NO_SESSION: session state where there is none; the message tells its author what to do.
 */
export function isTold(error: unknown): error is ServerError {
  if (error instanceof ToolError || error instanceof AskError) return true
  return error instanceof ServerError && (error.code === 'WORKER_ENDED' || error.code === 'NO_SESSION')
}

/** The JSON-RPC code of a request refused because its session has too many; outside the reserved ranges. */
export const tooManyRequests = 429

/**
 * The answer to a request for which there is no room, or no time, to wait. Nothing of it was done: it may be tried
 * again.
 */
export function busy(id: RequestId, problem: string): JsonRpcErrorResponse {
  return buildError(id, { code: tooManyRequests, message: problem, data: { retryable: true } })
}

/** Why a request is refused that would wait for more than `ms`. */
export function wouldWaitTooLong(ms: number): string {
  return `the server is busy: handlers take all the time of its event loop, and this request would wait for more than ${ms} ms (timeouts.waiting): try again later`
}
