import type { Batch } from '../wire/codec.js'
import {
  claimOf,
  claimsEnvelope,
  type Envelope,
  isEnvelope,
  readEnvelope,
  refuseEnvelope,
} from './envelope.js'
import { errorCodes, type JsonRpcError, McpError, toJsonRpcError } from '../wire/errors.js'
import {
  decodeHeaderValue,
  headerMismatch,
  headerOf,
  mirroredName,
  mirroredTask,
  needsName,
  type RequestHeaders,
} from './headers.js'
import {
  isNotification,
  isRequest,
  isResponse,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type Message,
} from '../wire/jsonrpc.js'
import type { Revision } from '../dialects/dialect.js'
import {
  allRevisions,
  haveHandshake,
  isModernRevision,
  modernDialectOf,
  offered,
} from '../dialects/versions.js'

/** How a body that came by HTTP is to be served; a notification has no envelope. */
export type HttpEra =
  | { readonly era: 'handshake' }
  | { readonly era: 'modern'; readonly envelope: Envelope | undefined }

/** The era that a pipe (stdio, a WebSocket) has settled on; the first request settles it for good. */
export type Pinned = 'none' | 'handshake' | 'modern'

/** How one message of a pipe is routed; `pinned` holds from the next message on. */
export type Pinning = { readonly pinned: Pinned } & (
  | { readonly route: 'handshake' }
  /** The envelope is undefined for a notification. */
  | { readonly route: 'modern'; readonly envelope: Envelope | undefined }
  /** A request gets the error; without one, and for other messages, there is no answer. */
  | { readonly route: 'refuse'; readonly error: JsonRpcError | undefined }
)

/** Who found an error: the checks of an HTTP request before a server sees it, or the server. */
export type FoundBy = 'ladder' | 'server'

const handshake: HttpEra = Object.freeze({ era: 'handshake' })
const notified: HttpEra = Object.freeze({ era: 'modern', envelope: undefined })
const statuses: ReadonlyMap<number, number> = new Map([
  [errorCodes.parseError, 400],
  [errorCodes.invalidRequest, 400],
  [errorCodes.methodNotFound, 404],
  [errorCodes.headerMismatch, 400],
  [errorCodes.missingClientCapability, 400],
  [errorCodes.unsupportedProtocolVersion, 400],
])

/**
 * The era of a POST: the body decides, never the header alone (2026-07-28, versioning). Throws McpError with
 * the status `modernStatusOf(code, 'ladder')`: -32600 for a batch with an envelope, -32020 for a header that
 * contradicts the body. -32602: the envelope is broken, or it is missing though the header names a modern
 * revision.
 */
export function eraOfHttp(message: Message | Batch, headers: RequestHeaders): HttpEra {
  if (isBatch(message)) return eraOfBatch(message)
  if (isResponse(message)) return handshake
  return isRequest(message) ? eraOfRequest(message, headers) : eraOfNotification(message, headers)
}

/**
 * The checks of a modern request before it is served: a supported revision (-32022 with `data.supported` and
 * `data.requested`; -32601 as `unspoken` says), the required headers, and `Mcp-Name` as in the body (-32020).
 * Throws McpError.
 */
export function checkModernHeaders(
  request: JsonRpcRequest,
  { revision }: Envelope,
  headers: RequestHeaders,
  among: readonly Revision[] = allRevisions,
): void {
  if (modernDialectOf(revision, among) === undefined) throw unspoken(request, revision, among)
  // their values were compared with the body when the era was found
  for (const name of requiredHeaders) {
    if (headers[name] === undefined) throw headerMismatch(name, 'expected what the body says, got nothing')
  }
  if (needsName(request.method) || mirroredTask(request) !== undefined) checkName(request, headers)
}

/**
 * The error for a request in a revision that is not spoken: -32022. Where all revisions have a handshake,
 * `server/discover` is a method that nobody has (-32601): there are clients that go on with `initialize` after
 * this one alone.
 */
function unspoken({ method }: JsonRpcRequest, requested: string, among: readonly Revision[]): McpError {
  if (method !== 'server/discover' || among.some(isModernRevision)) return unsupported(requested, among)
  const message = `Method not found: ${method} (this server speaks ${among.join(', ')}: begin with initialize)`
  return new McpError(errorCodes.methodNotFound, message, { data: { supported: [...among], requested } })
}

/** The HTTP status of an error found before any handler ran; -32602 is 400 only from the ladder. */
export function modernStatusOf(code: number, by: FoundBy = 'server'): number {
  if (by === 'ladder' && code === errorCodes.invalidParams) return 400
  return statuses.get(code) ?? 200
}

/**
 * The error -32022, which names the revisions without a handshake. A server that has none names the others:
 * its client is to begin with `initialize` (2026-07-28, versioning).
 */
export function unsupported(
  requested: string | undefined,
  among: readonly Revision[] = allRevisions,
): McpError {
  const told = requested === undefined ? 'none was named' : `got ${JSON.stringify(requested.slice(0, 40))}`
  const supported = offered(among)
  return new McpError(
    errorCodes.unsupportedProtocolVersion,
    `Unsupported protocol version: expected ${supported.join(', ')}, ${told}`,
    { data: { supported, ...(requested !== undefined && { requested }) } },
  )
}

/**
 * What becomes of a message on a pipe. The first request other than `server/discover` settles the era: modern
 * with an envelope, a handshake without one and for `initialize`. Where `among` has one era only, the other
 * is refused with -32022 and settles nothing. The caller keeps `pinned`, and asks in the order of arrival.
 */
export function pin(
  pinned: Pinned,
  message: Message | Batch,
  among: readonly Revision[] = allRevisions,
): Pinning {
  if (pinned === 'handshake') return byHandshake
  if (pinned === 'none' && !haveHandshake(among)) return pin('modern', message, among)
  if (isBatch(message)) return pinBatch(pinned, message)
  if (isRequest(message)) return pinned === 'none' ? pinFirst(message, among) : pinModern(message, among)
  if (pinned === 'modern') return isNotification(message) ? told : dropped
  if (isResponse(message)) return ignored
  // a probe may be given up before the era is settled: that alone says nothing of what comes next
  return claimsEnvelope(message) || message.method === 'notifications/cancelled' ? toldEarly : byHandshake
}

const byHandshake: Pinning = Object.freeze({ pinned: 'handshake', route: 'handshake' })
const told: Pinning = Object.freeze({ pinned: 'modern', route: 'modern', envelope: undefined })
const toldEarly: Pinning = Object.freeze({ pinned: 'none', route: 'modern', envelope: undefined })
const dropped: Pinning = Object.freeze({ pinned: 'modern', route: 'refuse', error: undefined })
const ignored: Pinning = Object.freeze({ pinned: 'none', route: 'refuse', error: undefined })
const requiredHeaders = Object.freeze(['mcp-protocol-version', 'mcp-method'])

function isBatch(message: Message | Batch): message is Batch {
  return Array.isArray(message)
}

function eraOfBatch(batch: Batch): HttpEra {
  if (batch.some(isModernPart)) throw modernBatch()
  return handshake
}

function isModernPart(part: Message | Error): boolean {
  return !(part instanceof Error) && claimsEnvelope(part)
}

function modernBatch(): McpError {
  return new McpError(errorCodes.invalidRequest, 'Invalid Request: no batches since revision 2025-06-18')
}

function eraOfRequest(request: JsonRpcRequest, headers: RequestHeaders): HttpEra {
  const named = headerOf(headers, 'mcp-protocol-version')
  if (!isModernRequest(request)) return eraWithoutClaim(request, named)
  const envelope = readEnvelope(request)
  compareVersion(envelope.revision, named)
  compareMethod(request.method, headers)
  return { era: 'modern', envelope }
}

/** `initialize` with a whole envelope is a modern request, for a method that the era lacks. */
function isModernRequest(request: JsonRpcRequest): boolean {
  if (request.method !== 'initialize') return claimsEnvelope(request)
  const claimed = claimOf(request)
  return typeof claimed === 'string' && isModernRevision(claimed) && isEnvelope(request)
}

function eraWithoutClaim({ method, params }: JsonRpcRequest, named: string | undefined): HttpEra {
  if (named === undefined || !isModernRevision(named)) return handshake
  if (method !== 'initialize') throw refuseEnvelope(params)
  throw headerMismatch('mcp-protocol-version', 'expected none of a revision without initialize')
}

function eraOfNotification(message: JsonRpcNotification, headers: RequestHeaders): HttpEra {
  const named = headerOf(headers, 'mcp-protocol-version')
  const claimed = claimOf(message)
  if (claimed === undefined) {
    if (named === undefined || !isModernRevision(named)) return handshake
  } else {
    if (typeof claimed !== 'string') throw refuseEnvelope(message.params)
    compareVersion(claimed, named)
  }
  compareMethod(message.method, headers)
  return notified
}

function compareVersion(claimed: string, named: string | undefined): void {
  if (named === undefined || named === claimed) return
  throw headerMismatch('mcp-protocol-version', 'expected the revision that the body names, got another')
}

/** Whether the header has to be there is checked later. */
function compareMethod(method: string, headers: RequestHeaders): void {
  const said = headerOf(headers, 'mcp-method')
  if (said === undefined || said === method) return
  throw headerMismatch('mcp-method', 'expected the method that the body names, got another')
}

function checkName(request: JsonRpcRequest, headers: RequestHeaders): void {
  const name = mirroredName(request) ?? mirroredTask(request)
  const header = headers['mcp-name']
  if (header === undefined) {
    if (name === undefined) return // the params are refused later
    throw headerMismatch('mcp-name', 'expected what the body says, got nothing')
  }
  const said = decodeHeaderValue(headerOf(headers, 'mcp-name') ?? '')
  if (said === undefined) throw headerMismatch('mcp-name', 'expected base64 of UTF-8 between its markers')
  if (name !== undefined && said !== name)
    throw headerMismatch('mcp-name', 'expected what the body says, got something else')
}

function pinBatch(pinned: Pinned, batch: Batch): Pinning {
  if (pinned === 'none' && !batch.some(isModernPart)) return byHandshake
  return refuse(pinned, modernBatch())
}

function pinFirst(request: JsonRpcRequest, among: readonly Revision[]): Pinning {
  if (!isModernRequest(request)) return byHandshake
  const pinning = serveModern('none', request, among)
  // a client that only asks what there is may still go on with `initialize`
  return pinning.route === 'refuse' || request.method === 'server/discover'
    ? pinning
    : { ...pinning, pinned: 'modern' }
}

function pinModern(request: JsonRpcRequest, among: readonly Revision[]): Pinning {
  if (request.method === 'initialize' && !isModernRequest(request))
    return refuse('modern', unsupportedHandshake(request, among))
  return serveModern('modern', request, among)
}

/** The error -32022 for a client that begins with `initialize` where there are no handshakes. */
export function unsupportedHandshake({ params }: JsonRpcRequest, among: readonly Revision[]): McpError {
  const requested = params?.protocolVersion
  return unsupported(typeof requested === 'string' ? requested : undefined, among)
}

function serveModern(pinned: Pinned, request: JsonRpcRequest, among: readonly Revision[]): Pinning {
  try {
    const envelope = readEnvelope(request)
    if (modernDialectOf(envelope.revision, among) !== undefined) return { pinned, route: 'modern', envelope }
    return refuse(pinned, unspoken(request, envelope.revision, among))
  } catch (error) {
    return refuse(pinned, error)
  }
}

function refuse(pinned: Pinned, error: unknown): Pinning {
  return { pinned, route: 'refuse', error: toJsonRpcError(error) }
}
