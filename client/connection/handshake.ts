import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import {
  buildNotification,
  buildRequest,
  type JsonRpcErrorResponse,
  type JsonRpcRequest,
  type JsonRpcResult,
} from '../../protocol/wire/jsonrpc.js'
import { readResult } from '../../protocol/messages/params.js'
import {
  acceptRevision,
  allHandshakeDialects,
  latestHandshake,
  modernRevisions,
} from '../../protocol/dialects/versions.js'
import type { Implementation } from '../../protocol/messages/types/base.js'
import type { ClientCapabilities } from '../../protocol/messages/types/capabilities.js'
import { ClientError } from '../base/errors.js'
import type { ServerFacts } from '../base/state.js'

/** The revisions that a client accepts. */
const speaks: readonly string[] = Object.freeze(allHandshakeDialects.map(({ revision }) => revision))

/** How a handshake came out: with the facts about the server, or with the reason why there is no session. */
export type Greeting =
  | { readonly ok: true; readonly server: ServerFacts }
  | { readonly ok: false; readonly reason: Error; readonly fatal: boolean }

/**
 * The first request of a connection: our latest revision, who we are, what we offer (specification:
 * lifecycle).
 */
export function initializeRequest(
  id: number,
  clientInfo: Implementation,
  capabilities: ClientCapabilities,
): JsonRpcRequest {
  return buildRequest(id, 'initialize', {
    protocolVersion: latestHandshake.revision,
    capabilities,
    clientInfo,
  })
}

/** What a client has to say before anything else once it accepted the answer. */
export const initializedNotification = Object.freeze(buildNotification('notifications/initialized'))

/**
 * Reads the answer to `initialize`. A server without a revision of ours is a fatal matter: it will not learn
 * one.
 */
export function readGreeting(answer: JsonRpcResult | JsonRpcErrorResponse): Greeting {
  if ('error' in answer) return refusal(answer)
  try {
    const { protocolVersion, capabilities, serverInfo, instructions } = readResult(
      'initialize',
      answer.result,
    )
    const { revision } = acceptRevision(protocolVersion)
    return { ok: true, server: Object.freeze({ info: serverInfo, capabilities, instructions, revision }) }
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    return { ok: false, reason: unreadableGreeting(cause), fatal: cause.code === 'NO_COMMON_REVISION' }
  }
}

/** The error for an answer to `initialize` that cannot be read, or that names no revision of ours. */
export function unreadableGreeting(cause: ProtocolError): ClientError {
  const code = cause.code === 'NO_COMMON_REVISION' ? 'NO_COMMON_REVISION' : 'INVALID_RESPONSE'
  return new ClientError(code, cause.message, { cause, data: cause.data })
}

function refusal({ error: { code, message, data } }: JsonRpcErrorResponse): Greeting {
  const cause = new McpError(code, message, { data })
  const supported = isObject(data) ? data.supported : undefined
  if (Array.isArray(supported)) {
    const hint = modernRevisions.some((revision) => supported.includes(revision))
      ? " (era: 'auto' or 'modern' speaks the other era)"
      : ''
    const text = `the server speaks ${supported.slice(0, 10).join(', ')}, this client ${speaks.join(', ')}${hint}`
    return {
      ok: false,
      reason: new ClientError('NO_COMMON_REVISION', text, { cause, data: { supported } }),
      fatal: true,
    }
  }
  const retryable = mayPass({ code, data })
  const text = `the server refused to initialize: ${message} (${code})`
  return {
    ok: false,
    reason: new ClientError('CONNECT_FAILED', text, { cause, retryable }),
    fatal: !retryable,
  }
}

/**
 * Whether the refusal of a handshake may be another one next time: something went wrong in the server, or in
 * what stands before it (proxies answer -32000 and -32001 while the server behind them is away), or it is
 * busy, or says so in `data.retryable`. Any other one is meant: the same request will be refused again.
 */
export function mayPass({ code, data }: Pick<JsonRpcErrorResponse['error'], 'code' | 'data'>): boolean {
  return passing.has(code) || (code >= 500 && code < 600) || (isObject(data) && data.retryable === true)
}

/**
 * Besides -32603, these are codes that the SDKs give to a connection that ended and to a request that took
 * too long, and HTTP statuses.
 */
const passing: ReadonlySet<number> = new Set([errorCodes.internalError, -32000, -32001, 408, 425, 429])
