import {
  type Envelope,
  type JsonObject,
  type JsonRpcNotification,
  type JsonRpcRequest,
  McpError,
  metaKeys,
} from 'caduceus/protocol'

/** The parts of `_meta` that a request of 2026-07-28 has to have. */
export const envelope: JsonObject = Object.freeze({
  [metaKeys.protocolVersion]: '2026-07-28',
  [metaKeys.clientCapabilities]: {},
})

/** What `readEnvelope` makes of it. */
export const read: Envelope = Object.freeze({
  revision: '2026-07-28',
  clientCapabilities: {},
  clientInfo: undefined,
  logLevel: undefined,
})

/** A request with an envelope; a key of `meta` that is undefined is taken out. */
export function modern(method: string, params: JsonObject = {}, meta: JsonObject = {}): JsonRpcRequest {
  const whole = JSON.parse(JSON.stringify({ ...envelope, ...meta }))
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: whole } }
}

/** A request without an envelope. */
export function plain(method: string, params?: JsonObject): JsonRpcRequest {
  return { jsonrpc: '2.0', id: 1, method, ...(params !== undefined && { params }) }
}

/** A notification. */
export function notification(method: string, params?: JsonObject): JsonRpcNotification {
  return { jsonrpc: '2.0', method, ...(params !== undefined && { params }) }
}

/** The McpError that `action` throws. */
export function refusalOf(action: () => unknown): McpError {
  try {
    action()
  } catch (error) {
    if (error instanceof McpError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
