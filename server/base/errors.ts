import { buildError, type JsonRpcErrorResponse, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { CaduceusError, type ErrorDetails, messageOf } from '../../runtime/base/errors.js'

/** Every code a ServerError can have. */
export type ServerErrorCode =
  /**
   * A tool, resource, prompt or server is defined wrongly; the message names it and the field (`data.field`).
   */
  | 'BAD_DEFINITION'
  /** An option of a server, store or `ctx` function is not what it should be (`data.field`). */
  | 'BAD_OPTION'
  /** A key or value cannot be kept with a session (`data.key`). */
  | 'BAD_STATE'
  /** Session state was asked for where the revision (2026-07-28) has no sessions. */
  | 'NO_SESSION'
  /** What a handler returns cannot be sent as a result. */
  | 'BAD_RESULT'
  /** A path leads out of the folders that it must stay in. */
  | 'OUTSIDE_ROOTS'
  /** A tool says that it failed (`ToolError`): told to the model with `isError`. */
  | 'TOOL_FAILED'
  | AskErrorCode

/** Why a question to the client has no answer. */
export type AskErrorCode =
  /** The client, or its revision, cannot be asked this (`data.capability`). */
  | 'MISSING_CAPABILITY'
  /** The client has not finished its handshake: it can be asked nothing but `ping` yet. */
  | 'NOT_INITIALIZED'
  /** Nobody reads the answers of this request any more, or it has ended. */
  | 'CLIENT_GONE'
  /** As many questions are open, or were asked by this call, as there may be. */
  | 'TOO_MANY_QUESTIONS'
  /** The client did not answer in time (`askTimeout`). */
  | 'ASK_TIMEOUT'
  /** The client answered with an error (`data.code`). */
  | 'ASK_REFUSED'
  /** What the client answered is no answer to the question, or does not fit the form. */
  | 'BAD_ANSWER'

/** The error class of `caduceus/server`. */
export class ServerError extends CaduceusError<ServerErrorCode> {}

/**
 * The error for an option or argument that is not what it should be: every BAD_OPTION of this floor is made
 * here, so that `data.field` is never forgotten.
 */
export function optionError(field: string, problem: string, cause?: unknown): ServerError {
  return new ServerError('BAD_OPTION', problem, { ...(cause !== undefined && { cause }), data: { field } })
}

/**
 * What a tool throws to tell the model that it failed and why: the call is answered with `isError` and this
 * text. Thrown by a prompt, a resource, a completer or a method, it is JSON-RPC error -32603 with this text,
 * and `TOOL_FAILED` in `data.code`. Any other error is a crash of the call, whose message stays inside. Given
 * an error instead of a text, it says what that says, and keeps it as its cause.
 */
export class ToolError extends ServerError {
  constructor(message: string | Error, details: ErrorDetails = {}) {
    const cause = message instanceof Error ? { cause: message } : {}
    super('TOOL_FAILED', messageOf(message), { ...cause, ...details })
  }
}

/**
 * A question to the client (`ctx.elicit`, `ctx.sample`, `ctx.roots`, `ctx.ping`) that has no answer:
 * `MISSING_CAPABILITY` with `data.capability`, `NOT_INITIALIZED`, `CLIENT_GONE`, `TOO_MANY_QUESTIONS`,
 * `ASK_TIMEOUT`, `ASK_REFUSED` with the client's code in `data.code`, `BAD_ANSWER`. A tool that lets it
 * through is answered with `isError` and its message; in 2026-07-28 a missing capability is error -32021
 * instead, with `data.requiredCapabilities` of this error.
 */
export class AskError extends ServerError {
  constructor(code: AskErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message, details)
  }
}

/** Whether a client has named a path beyond what it may see (`resolveInside`): its mistake, and no crash. */
export function isOutsideRoots(error: unknown): error is ServerError {
  return error instanceof ServerError && error.code === 'OUTSIDE_ROOTS'
}

/**
 * The JSON-RPC code of a request refused because its session has too many already; beyond what JSON-RPC and
 * MCP reserve.
 */
export const tooManyRequests = 429

/**
 * The answer to a request that found no room to wait in: none of it was done, so trying again later is safe.
 */
export function busy(
  id: RequestId,
  { maxRequests, maxWaiting }: { readonly maxRequests: number; readonly maxWaiting: number },
): JsonRpcErrorResponse {
  const problem = `too many requests at once: ${maxRequests} of a session are at work (maxRequests), and ${maxWaiting}, or 64 MiB, may wait (maxWaiting): try again later`
  return buildError(id, { code: tooManyRequests, message: problem, data: { retryable: true } })
}
