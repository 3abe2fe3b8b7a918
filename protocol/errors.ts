import { isObject } from './json.js'

const brand = Symbol.for('caduceus.error')

/** Every code a ProtocolError can have. */
export type ProtocolErrorCode =
  | 'PARSE_FAILED'
  | 'INVALID_MESSAGE'
  | 'INVALID_UTF8'
  | 'TOO_DEEP'
  | 'LINE_TOO_LONG'
  | 'EVENT_TOO_LONG'
  | 'BAD_EVENT'
  | 'NOT_SERIALISABLE'
  | 'NO_COMMON_REVISION'
  | 'NOT_IN_REVISION'
  | 'BAD_PARAMS'
  | 'BAD_RESULT'
  | 'BAD_SCHEMA'
  | 'BAD_TEMPLATE'

/** What a protocol error may carry besides its message. */
export interface ProtocolErrorDetails {
  /** The error that led to this one. */
  readonly cause?: unknown
  /** Facts a program can act on; the shape belongs to the code. */
  readonly data?: unknown
  /** Whether the same request may succeed when it is made again. Default false. */
  readonly retryable?: boolean
}

class FamilyError<Code> extends Error {
  readonly code: Code
  readonly retryable: boolean
  readonly data: unknown

  constructor(code: Code, message: string, details: ProtocolErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.retryable = details.retryable ?? false
    this.data = details.data
  }

  override get name(): string {
    return this.constructor.name
  }

  /** Makes it one of the family of `CaduceusError`. */
  get [brand](): true {
    return true
  }
}

/** Something on the wire, or meant for it, breaks the protocol: found on this side, never sent by the far side. */
export class ProtocolError extends FamilyError<ProtocolErrorCode> {}

/** A JSON-RPC error: the far side's answer, or what a handler throws to answer one. `code` is an integer. */
export class McpError extends FamilyError<number> {}

/** The error object of a JSON-RPC error response. */
export interface JsonRpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The integer codes that JSON-RPC and the revisions of MCP define; which revision has which is in the specification. */
export const errorCodes = Object.freeze({
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
  urlElicitationRequired: -32042,
  userRejected: -1,
})

const answers: { readonly [Code in ProtocolErrorCode]?: number } = {
  PARSE_FAILED: errorCodes.parseError,
  INVALID_UTF8: errorCodes.parseError,
  INVALID_MESSAGE: errorCodes.invalidRequest,
  TOO_DEEP: errorCodes.invalidRequest,
  LINE_TOO_LONG: errorCodes.invalidRequest,
}

/**
 * What the far side is told about `error`: an McpError as it is, a message we could not read by its code,
 * anything else as -32603 with a neutral text, so that nothing of the inside leaks.
 */
export function toJsonRpcError(error: unknown): JsonRpcError {
  if (error instanceof McpError && Number.isInteger(error.code)) {
    const { code, message, data } = error
    return data === undefined ? { code, message } : { code, message, data }
  }
  const code = error instanceof ProtocolError ? answers[error.code] : undefined
  if (code !== undefined) return { code, message: (error as ProtocolError).message }
  return { code: errorCodes.internalError, message: 'Internal error' }
}

/** Whether an answer to `resources/read` says that there is no such resource, in the code of any revision. */
export function isResourceNotFound({ code, data }: JsonRpcError): boolean {
  if (code === errorCodes.resourceNotFound) return true
  return code === errorCodes.invalidParams && isObject(data) && typeof data.uri === 'string'
}
