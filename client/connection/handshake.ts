import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import {
  buildNotification,
  type JsonRpcErrorResponse,
  type JsonRpcResult,
} from '../../protocol/wire/jsonrpc.js'
import { readResult } from '../../protocol/messages/params.js'
import { acceptRevision, allRevisions } from '../../protocol/dialects/versions.js'
import { ClientError } from '../base/errors.js'
import type { ServerFacts } from '../base/state.js'

export const initializedNotification = Object.freeze(buildNotification('notifications/initialized'))

type Handshake = { readonly server: ServerFacts } | { readonly reason: ClientError; readonly fatal: boolean }

/** Without a common revision it is fatal: the server will not learn one. */
export function readHandshake(answer: JsonRpcResult | JsonRpcErrorResponse): Handshake {
  if ('error' in answer) return readRefusal(answer)
  try {
    const result = readResult('initialize', answer.result)
    const { capabilities, serverInfo: info, instructions } = result
    const { revision } = acceptRevision(result.protocolVersion)
    return { server: Object.freeze({ info, capabilities, instructions, revision }) }
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    return { reason: unreadable(cause), fatal: cause.code === 'NO_COMMON_REVISION' }
  }
}

/** An answer to `initialize` that cannot be read, or names no revision of ours. */
export function unreadable(cause: ProtocolError): ClientError {
  const code = cause.code === 'NO_COMMON_REVISION' ? 'NO_COMMON_REVISION' : 'INVALID_RESPONSE'
  return new ClientError(code, cause.message, { cause, data: cause.data })
}

/** The server told its revisions; none is `ours`. */
export function noCommonRevision(
  supported: readonly string[],
  ours: readonly string[],
  details: { readonly cause?: Error } = {},
): ClientError {
  const text = `the server speaks ${supported.slice(0, 10).join(', ')}, this client ${ours.join(', ')}`
  return new ClientError('NO_COMMON_REVISION', text, { ...details, data: { supported } })
}

function readRefusal({ error: { code, message, data } }: JsonRpcErrorResponse): Handshake {
  const cause = new McpError(code, message, { data })
  const supported = isObject(data) ? data.supported : undefined
  if (Array.isArray(supported))
    return { reason: noCommonRevision(supported, allRevisions, { cause }), fatal: true }
  const retryable = mayPass({ code, data })
  const text = `the server refused to initialize: ${message} (${code})`
  return { reason: new ClientError('CONNECT_FAILED', text, { cause, retryable }), fatal: !retryable }
}

/**
 * Whether a later try may succeed: as `data.retryable` says, or else a failure in the server or a proxy, or
 * busy.
 */
export function mayPass({ code, data }: Pick<JsonRpcErrorResponse['error'], 'code' | 'data'>): boolean {
  if (isObject(data) && typeof data.retryable === 'boolean') return data.retryable
  return passing.has(code) || (code >= 500 && code < 600)
}

/** SDKs answer a lost connection with -32000 and a timeout with -32001; the rest are HTTP statuses. */
const passing: ReadonlySet<number> = new Set([errorCodes.internalError, -32000, -32001, 408, 425, 429])
