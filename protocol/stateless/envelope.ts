import { McpError } from '../wire/errors.js'
import { isObject, type JsonObject, kindOf } from '../wire/json.js'
import { isRequestId, type JsonRpcRequest, type Message } from '../wire/jsonrpc.js'
import { isLoggingLevel, type LoggingLevel } from '../messages/logging.js'
import type { Implementation, Meta } from '../messages/base.js'
import type { ClientCapabilities } from '../messages/capabilities.js'

/** The keys of `_meta` that 2026-07-28 reserves (basic, `_meta`). */
export const metaKeys = Object.freeze({
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
})

/** What every request of 2026-07-28 says of its sender. It holds for this request only. */
export interface Envelope {
  /** As it was sent: it need not be a revision that we know. */
  readonly revision: string
  readonly clientCapabilities: ClientCapabilities
  /** For display only. */
  readonly clientInfo: Implementation | undefined
  /** Undefined: the request wants no log messages. */
  readonly logLevel: LoggingLevel | undefined
}

/** What is wrong with an envelope; in the `data` of the error. */
export interface EnvelopeProblems {
  /** Keys of `_meta` that have to be there, or `_meta` itself. */
  readonly missing: readonly string[]
  /** Keys of `_meta` that are there and are not what they should be. */
  readonly malformed: readonly string[]
}

/** Whether `_meta` claims, well or badly, that the message is of 2026-07-28 or later (versioning). */
export function claimsEnvelope(message: Message): boolean {
  return claimOf(message) !== undefined
}

/** The revision that a message claims to be in, whatever it is; undefined when it claims none. */
export function claimOf(message: Message): unknown {
  return 'method' in message ? metaOf(message.params)?.[metaKeys.protocolVersion] : undefined
}

/**
 * Reads the envelope of a request. Throws McpError -32602 (HTTP 400) that names every key that is missing or
 * malformed, with `EnvelopeProblems` as `data.envelope`.
 */
export function readEnvelope(request: JsonRpcRequest): Envelope {
  const envelope = findEnvelope(request)
  if (envelope === undefined) throw refuseEnvelope(request.params)
  return envelope
}

/** Whether `readEnvelope` would read it. */
export function isEnvelope(request: JsonRpcRequest): boolean {
  return findEnvelope(request) !== undefined
}

/** The `_meta` of a client's request; other keys may be added. */
export function writeEnvelope({ revision, clientCapabilities, clientInfo, logLevel }: Envelope): Meta {
  return {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientCapabilities]: clientCapabilities,
    ...(clientInfo !== undefined && { [metaKeys.clientInfo]: clientInfo }),
    ...(logLevel !== undefined && { [metaKeys.logLevel]: logLevel }),
  }
}

function findEnvelope({ params }: JsonRpcRequest): Envelope | undefined {
  const meta = metaOf(params)
  if (meta === undefined || rules.some((rule) => isMissing(rule, meta) || isMalformed(rule, meta)))
    return undefined
  return {
    revision: meta[metaKeys.protocolVersion] as string,
    clientCapabilities: meta[metaKeys.clientCapabilities] as ClientCapabilities,
    clientInfo: meta[metaKeys.clientInfo] as Implementation | undefined,
    logLevel: meta[metaKeys.logLevel] as LoggingLevel | undefined,
  }
}

/** The `_meta` of params or of a result; undefined where it is no object. */
export function metaOf(params: { readonly _meta?: unknown } | undefined): JsonObject | undefined {
  const meta = params?._meta
  return isObject(meta) ? meta : undefined
}

/** Whether a value names a program and its version. */
export function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value.name === 'string' && typeof value.version === 'string'
}

interface EnvelopeRule {
  readonly key: string
  readonly required: boolean
  readonly expected: string
  readonly holds: (value: unknown) => boolean
}

const rules: readonly EnvelopeRule[] = Object.freeze([
  rule(metaKeys.protocolVersion, true, 'a string', (value) => typeof value === 'string'),
  rule(metaKeys.clientCapabilities, true, 'an object', isObject),
  rule(metaKeys.clientInfo, false, 'an object with a name and a version', isImplementation),
  rule(metaKeys.logLevel, false, 'a level such as info', isLoggingLevel),
  rule('progressToken', false, 'a string or an integer', isRequestId),
])

function rule(key: string, required: boolean, expected: string, holds: EnvelopeRule['holds']): EnvelopeRule {
  return { key, required, expected, holds }
}

function isMissing({ key, required }: EnvelopeRule, meta: JsonObject): boolean {
  return required && meta[key] === undefined
}

function isMalformed({ key, holds }: EnvelopeRule, meta: JsonObject): boolean {
  return meta[key] !== undefined && !holds(meta[key])
}

/** The error -32602 with everything that is wrong with an envelope. */
export function refuseEnvelope(params: JsonObject | undefined): McpError {
  const given = params?._meta
  const meta = isObject(given) ? given : {}
  const absent = given === undefined ? ['_meta'] : []
  const missing = rules.filter((rule) => isMissing(rule, meta))
  const malformed = rules.filter((rule) => isMalformed(rule, meta))
  const told = [
    ...(given !== undefined && !isObject(given) ? [`_meta: expected an object, got ${kindOf(given)}`] : []),
    ...missing.map(({ key }) => `${key} is missing`),
    ...malformed.map(({ key, expected }) => `${key}: expected ${expected}, got ${kindOf(meta[key])}`),
  ]
  const envelope: EnvelopeProblems = {
    missing: [...absent, ...missing.map(({ key }) => key)],
    malformed: malformed.map(({ key }) => key),
  }
  return McpError.invalidParams(`params._meta: not an envelope: ${told.join('; ')}`, { envelope })
}
