import { acceptsRequest } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, toJsonRpcError, unknownMethod } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import {
  buildError,
  buildNotification,
  buildResult,
  isRequestId,
  type JsonRpcRequest,
} from '../../protocol/wire/jsonrpc.js'
import { isMethod } from '../../protocol/messages/methods.js'
import { readParams } from '../../protocol/messages/params.js'
import { isModernRevision, latestHandshake } from '../../protocol/dialects/versions.js'
import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import type { Sink, Response } from '../../transports/contract/contract.js'
import { writeOutcome } from '../../transports/shared/hello.js'
import type { CallOptions } from '../options/call-options.js'
import { callError, ClientError, type ClientErrorCode } from '../base/errors.js'
import type { Relay } from './relay.js'

/** Calls for a program; undefined when cancelled. Never rejects. */
export async function relayCall(
  relay: Relay,
  request: JsonRpcRequest,
  sink: Sink,
): Promise<Response | undefined> {
  const { calls, desk } = relay
  const { limits, callTimeout } = desk.settings
  const { id } = request
  if (calls.size >= limits.calls) return tooMany(request, limits.calls)
  const controller = new AbortController()
  const { signal } = controller
  calls.set(id, controller)
  try {
    const options = { timeout: callTimeout, signal, ...progressTo(request, sink) }
    const result = await make(relay, request, options)
    return signal.aborted ? undefined : buildResult(id, result)
  } catch (error) {
    return signal.aborted ? undefined : refusalOf(request, error)
  } finally {
    if (calls.get(id) === controller) calls.delete(id)
  }
}

/** Its data says what became of the call, as an error of a client does. */
export function refusalOf({ id, method }: JsonRpcRequest, error: unknown): Response {
  if (error instanceof McpError) return buildError(id, toJsonRpcError(error))
  const { code, retryable, data } = readError(error)
  const { sent, ...facts } = isObject(data) ? data : {}
  const prefix = `${method}: `
  const text = messageOf(error)
  return buildError(id, {
    code: errorCodes.internalError,
    message: text.startsWith(prefix) ? text.slice(prefix.length) : text,
    data: writeOutcome({ code, retryable, sent: sent !== false, lost: lossCodes.has(code), facts }),
  })
}

const lossCodes: ReadonlySet<string> = new Set<ClientErrorCode>(['CONNECTION_LOST', 'SESSION_NOT_FOUND'])

function readError(error: unknown): { code: string; retryable: boolean; data: unknown } {
  if (error instanceof ClientError) return error
  // the relay, or the tree of the client, has ended meanwhile
  if (error instanceof RuntimeError)
    return { code: 'CONNECTION_LOST', retryable: true, data: { sent: error.code !== 'MAILBOX_FULL' } }
  return { code: 'INTERNAL', retryable: false, data: { sent: true } }
}

async function make(
  relay: Relay,
  { method, params }: JsonRpcRequest,
  options: CallOptions,
): Promise<JsonObject> {
  const { client, wishing } = relay
  switch (method) {
    case 'initialize':
      throw new McpError(errorCodes.invalidRequest, 'initialize: there is a session already')
    case 'ping':
      await client.ping(options)
      return {}
    case 'logging/setLevel':
      await wishing.setLevel(readParams(method, params).level, options)
      return {}
    case 'resources/subscribe':
      await wishing.subscribe(readParams(method, params).uri, options)
      return {}
    case 'resources/unsubscribe':
      await wishing.unsubscribe(readParams(method, params).uri, options)
      return {}
    default:
      if (isMethod(method) && !acceptsRequest(latestHandshake, 'server', method)) throw unknownMethod(method)
      return plain(relay, await client.request<string>(method, withoutToken(params), options))
  }
}

/** Without fields of 2026-07-28: programs speak a revision with sessions. */
function plain({ client }: Relay, result: JsonObject): JsonObject {
  if (!isModernRevision(client.server?.revision ?? '')) return result
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result
  return rest
}

/** The program's progress token stays here: the owner uses others. */
function withoutToken(params: JsonObject | undefined): JsonObject | undefined {
  if (!isObject(params?._meta) || !('progressToken' in params._meta)) return params
  const { progressToken: _token, ...meta } = params._meta
  const { _meta, ...rest } = params
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}

function progressTo({ params }: JsonRpcRequest, sink: Sink): Pick<CallOptions, 'onProgress'> {
  const progressToken = isObject(params?._meta) ? params._meta.progressToken : undefined
  if (!isRequestId(progressToken)) return {}
  return {
    onProgress: (progress) =>
      void sink.send(buildNotification('notifications/progress', { progressToken, ...progress })),
  }
}

function tooMany(request: JsonRpcRequest, maxCalls: number): Response {
  const message = `${request.method}: this program has ${maxCalls} calls under way already`
  return refusalOf(request, callError('QUEUE_FULL', message, { sent: false }))
}
