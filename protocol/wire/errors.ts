import { isObject } from './json.js'

const brand = Symbol.for('caduceus.error')

/** Every code a ProtocolError can have. */
export type ProtocolErrorCode =
  /** A text is no JSON. */
  | 'PARSE_FAILED'
  /** JSON that is no JSON-RPC message of MCP (`data.about`, and `data.id` where it can be read). */
  | 'INVALID_MESSAGE'
  /** A line of bytes is not UTF-8. */
  | 'INVALID_UTF8'
  /** Arrays and objects are nested deeper than they may be. */
  | 'TOO_DEEP'
  /** There are more arrays, objects and values in them than there may be. */
  | 'TOO_MANY_VALUES'
  /** A line has more bytes than it may (`data.about`, and `data.id` where it can be read). */
  | 'LINE_TOO_LONG'
  /** An event of a stream has more characters than it may (`data` as of LINE_TOO_LONG). */
  | 'EVENT_TOO_LONG'
  /** An event to be written has a field that no event stream can carry. */
  | 'BAD_EVENT'
  /** A message has no JSON text: a BigInt, a cycle, bottomless nesting, or an empty batch. */
  | 'NOT_SERIALISABLE'
  /** The two sides share no revision of MCP (`data.supported`, `data.answered`). */
  | 'NO_COMMON_REVISION'
  /** The revision that is spoken does not have what is asked for (`data.method`). */
  | 'NOT_IN_REVISION'
  /** The params of a method are not what the specification says (`data.method`). */
  | 'BAD_PARAMS'
  /** The result of a method is not what the specification says (`data.method`). */
  | 'BAD_RESULT'
  /** A schema is wrong, hostile, or of a kind that is not taken; the message has every problem. */
  | 'BAD_SCHEMA'
  /** The front matter of a `SKILL.md` is not the YAML that is read here; the message names the line. */
  | 'BAD_FRONT_MATTER'
  /** A URI template is not RFC 6570, or cannot be expanded with these values. */
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

/** A message breaks the protocol, or one to be sent would; found on this side, never sent. */
export class ProtocolError extends FamilyError<ProtocolErrorCode> {}

/** A JSON-RPC error: the far side's answer, or what a handler throws to answer one. `code` is an integer. */
export class McpError extends FamilyError<number> {
  /** -32602: the params are wrong, or name something that is not there. */
  static invalidParams(message: string, data?: unknown): McpError {
    return answerOf(errorCodes.invalidParams, message, data)
  }

  /** -32600: the request may not be made, or not now. */
  static invalidRequest(message: string, data?: unknown): McpError {
    return answerOf(errorCodes.invalidRequest, message, data)
  }

  /** -32601: there is no such method. */
  static methodNotFound(message: string, data?: unknown): McpError {
    return answerOf(errorCodes.methodNotFound, message, data)
  }

  /** -32603: a fault of this side, in words that the far side may read. */
  static internal(message: string, data?: unknown): McpError {
    return answerOf(errorCodes.internalError, message, data)
  }

  /** -32002, and -32602 to a client of 2026-07-28: there is no such resource; `data` has its `uri`. */
  static notFound(message: string, data?: { readonly uri: string }): McpError {
    return answerOf(errorCodes.resourceNotFound, message, data)
  }

  /** -1: the user said no. */
  static rejected(message: string, data?: unknown): McpError {
    return answerOf(errorCodes.userRejected, message, data)
  }
}

/** Outside of the class: one that names itself in its body is called something else once it is bundled. */
function answerOf(code: number, message: string, data: unknown): McpError {
  return new McpError(code, message, { data })
}

/** The error -32601 for a request whose method is not known here. */
export function unknownMethod(method: string): McpError {
  return McpError.methodNotFound(`Method not found: ${method.slice(0, 100)}`)
}

/** The error object of a JSON-RPC error response. */
export interface JsonRpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/**
 * The codes of JSON-RPC and MCP. Those of 2026-07-28 are from its schema (its proposals had others); -32000
 * to -32019 are of older revisions only.
 */
export const errorCodes = Object.freeze({
  /** The text is no JSON. */
  parseError: -32700,
  /** The message is no request, or not one that may be made now. */
  invalidRequest: -32600,
  /** There is no such method here, or not in this revision. */
  methodNotFound: -32601,
  /** The params are wrong, or name something that is not there. */
  invalidParams: -32602,
  /** The far side has a fault of its own; what it was stays there. */
  internalError: -32603,
  /** There is no such resource; from 2026-07-28 on that is `invalidParams`. */
  resourceNotFound: -32002,
  /** A header says something else than the body (2026-07-28). */
  headerMismatch: -32020,
  /** The client lacks what the request needs (`data.requiredCapabilities`, 2026-07-28). */
  missingClientCapability: -32021,
  /** The server does not speak the revision of the request (2026-07-28). */
  unsupportedProtocolVersion: -32022,
  /** The user has to visit the addresses in `data.elicitations` first. */
  urlElicitationRequired: -32042,
  /** The user said no. */
  userRejected: -1,
})

const answers: { readonly [Code in ProtocolErrorCode]?: number } = {
  PARSE_FAILED: errorCodes.parseError,
  INVALID_UTF8: errorCodes.parseError,
  INVALID_MESSAGE: errorCodes.invalidRequest,
  TOO_DEEP: errorCodes.invalidRequest,
  TOO_MANY_VALUES: errorCodes.invalidRequest,
  LINE_TOO_LONG: errorCodes.invalidRequest,
  EVENT_TOO_LONG: errorCodes.invalidRequest,
}

/**
 * The error that a peer is told: an McpError as it is, the code of a message that could not be read, anything
 * else as -32603 without details.
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
