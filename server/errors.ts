import { CaduceusError, type ErrorDetails } from '../runtime/errors.js'

/** Every code a ServerError can have. */
export type ServerErrorCode =
  | 'BAD_DEFINITION'
  | 'BAD_OPTION'
  | 'BAD_STATE'
  | 'BAD_RESULT'
  | 'TOOL_FAILED'
  | AskErrorCode

/** Why a question to the client has no answer. */
export type AskErrorCode =
  | 'MISSING_CAPABILITY'
  | 'NOT_INITIALIZED'
  | 'CLIENT_GONE'
  | 'TOO_MANY_QUESTIONS'
  | 'ASK_TIMEOUT'
  | 'ASK_REFUSED'
  | 'BAD_ANSWER'

/** The error class of `caduceus/server`. */
export class ServerError extends CaduceusError<ServerErrorCode> {}

/**
 * What a tool throws to tell the model that it failed and why: the call is answered with `isError` and this text. Any other error
 * is a crash of the call, whose message stays inside.
 */
export class ToolError extends ServerError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('TOOL_FAILED', message, details)
  }
}

/**
 * A question to the client (`ctx.elicit`, `ctx.sample`, `ctx.roots`, `ctx.ping`) that has no answer: `MISSING_CAPABILITY` with
 * `data.capability`, `NOT_INITIALIZED`, `CLIENT_GONE`, `TOO_MANY_QUESTIONS`, `ASK_TIMEOUT`, `ASK_REFUSED` with the client's code in `data.code`,
 * `BAD_ANSWER`. A tool that lets it through is answered with `isError` and its message.
 */
export class AskError extends ServerError {
  constructor(code: AskErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message, details)
  }
}

/** The JSON-RPC code of a request refused because its session has too many already; beyond what JSON-RPC and MCP reserve. */
export const tooManyRequests = 429
