import { CaduceusError, type ErrorDetails } from '../runtime/errors.js'

/** Every code a ServerError can have. */
export type ServerErrorCode = 'BAD_DEFINITION' | 'BAD_OPTION' | 'BAD_STATE' | 'BAD_RESULT' | 'TOOL_FAILED'

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

/** The JSON-RPC code of a request refused because its session has too many already; beyond what JSON-RPC and MCP reserve. */
export const tooManyRequests = 429
