import type { Dialect } from '../../protocol/dialects/dialect.js'
import { metaKeys, metaOf, writeEnvelope } from '../../protocol/stateless/envelope.js'
import { fitClient } from '../../protocol/dialects/fit.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest, Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import { mirroredHeaders, paramHeaders } from '../../protocol/stateless/headers.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { SendOptions } from '../../transports/contract/contract.js'
import type { ToolBook } from '../holdings/tool-book.js'
import type { Job } from './job.js'

type Request = Pick<Job, 'method' | 'params' | 'paramsText'>

/** A message as text, and what the transport needs besides. */
export interface Written {
  readonly text: string
  readonly message: Message
  readonly options?: SendOptions
}

/** How requests are written on one connection. */
export interface Speech {
  readonly dialect: Dialect
  /** Requests are given up by a notification, or by closing the response. */
  readonly cancels: 'notification' | 'close'
  /** `headers` are of this request alone, over HTTP. */
  write(id: RequestId, request: Request, headers?: SendOptions['headers']): Written
}

export function plainSpeech(dialect: Dialect): Speech {
  return { dialect, cancels: 'notification', write: writePlainly }
}

interface Speaker {
  readonly capabilities: ClientCapabilities
  readonly clientInfo: Implementation
  /** Wanted log level, read at every request. */
  level(): LoggingLevel | undefined
  readonly tools: ToolBook
}

/** Requests of 2026-07-28: with envelopes, over HTTP also headers. `server/discover` replaces `ping`. */
export function modernSpeech(dialect: Dialect, over: 'pipe' | 'http', speaker: Speaker): Speech {
  const { clientInfo } = speaker
  const clientCapabilities =
    dialect.lacks === undefined ? speaker.capabilities : fitClient(dialect.lacks, speaker.capabilities)
  const { revision } = dialect
  let envelope = envelopeAt(speaker.level())

  function envelopeAt(logLevel: LoggingLevel | undefined) {
    const meta = writeEnvelope({ revision, clientCapabilities, clientInfo, logLevel })
    return { logLevel, meta, text: `{"_meta":${JSON.stringify(meta)}` }
  }

  function write(id: RequestId, request: Request, headers?: SendOptions['headers']): Written {
    const { method: asked, params, paramsText } = request
    if (envelope.logLevel !== speaker.level()) envelope = envelopeAt(speaker.level())
    const method = asked === 'ping' ? 'server/discover' : asked
    const whole = { ...params, _meta: { ...metaOf(params), ...envelope.meta } }
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":`
    const message: JsonRpcRequest = { jsonrpc: '2.0', id, method, params: whole }
    const text = `${head}${textOf(params, paramsText, whole, envelope.text)}}`
    if (over === 'pipe') return { text, message }
    return { text, message, options: { headers: { ...headers, ...headersOf(message) } } }
  }

  function headersOf(message: JsonRpcRequest): Record<string, string> {
    const headers = mirroredHeaders(message, revision)
    const { name, arguments: args } = message.params ?? {}
    if (message.method !== 'tools/call' || typeof name !== 'string') return headers
    return { ...headers, ...paramHeaders(speaker.tools.planOf(name), isObject(args) ? args : undefined) }
  }

  return { dialect, cancels: over === 'http' ? 'close' : 'notification', write }
}

export function subscriptionOf(params: JsonObject | undefined): unknown {
  return metaOf(params)?.[metaKeys.subscriptionId]
}

/** Notifications have no envelope in any revision. */
export function writeNotification({ method, params, paramsText }: Request): Written {
  const text = `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${tailOf(paramsText)}`
  return {
    text,
    message: params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params },
  }
}

function writePlainly(id: RequestId, request: Request, headers?: SendOptions['headers']): Written {
  const { method, params, paramsText } = request
  const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)}${tailOf(paramsText)}`
  const message: JsonRpcRequest =
    params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params }
  return headers === undefined ? { text, message } : { text, message, options: { headers } }
}

function tailOf(paramsText: string | undefined): string {
  return paramsText === undefined ? '}' : `,"params":${paramsText}}`
}

/** Without a `_meta` of its own, the text of the params is not made again. */
function textOf(
  params: JsonObject | undefined,
  paramsText: string | undefined,
  whole: JsonObject,
  opening: string,
): string {
  if (params !== undefined && Object.hasOwn(params, '_meta')) return JSON.stringify(whole)
  if (paramsText === undefined || paramsText === '{}') return `${opening}}`
  return `${opening},${paramsText.slice(1)}`
}
