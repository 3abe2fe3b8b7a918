import { decode } from '../../../protocol/wire/codec.js'
import type { JsonRpcErrorResponse, RequestId } from '../../../protocol/wire/jsonrpc.js'
import { cut } from '../../../runtime/base/cut.js'
import { messageOf } from '../../../runtime/base/errors.js'
import { TransportError } from '../../base/errors.js'
import type { HttpResponse } from '../outgoing/dispatcher.js'
import { wantsAuthorization } from './auth.js'
import type { HttpClientSettings } from './options.js'

/** The settings of a request that errors name. */
type Addressed = Pick<HttpClientSettings, 'url' | 'auth' | 'headers'>

type Refusal = Pick<HttpResponse, 'status' | 'headers' | 'origin'>

/** What the error of a request means: whether the server was reached, and whether another try can help. */
export function judge(cause: unknown): 'unreachable' | 'untrusted' | 'broken' {
  if (cause instanceof TransportError) return 'broken'
  const facts = (cause ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown }
  const code = String(facts.code)
  // a TLS front without a certificate yet answers with an internal error
  if (unreachable.has(code) || code.endsWith('ALERT_INTERNAL_ERROR')) {
    // found out of reach on a connection that stands: the server may have taken the request before
    return facts.syscall === 'read' || facts.syscall === 'write' ? 'broken' : 'unreachable'
  }
  if (/^ERR_(TLS|SSL)|CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code)) return 'untrusted'
  // reset before the connection stood, TLS included: nothing was sent on it
  const isEarly =
    facts.syscall === 'connect' || /before secure TLS connection was established/.test(String(facts.message))
  return isEarly ? 'unreachable' : 'broken'
}

const unreachable = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Whether the server refuses what it was sent with all credentials that there are. */
export function isDenied(cause: unknown): cause is TransportError {
  return cause instanceof TransportError && cause.code === 'UNAUTHORIZED'
}

/** Whether an error says that the host is there, and nobody listens at the port. */
export function isNobodyThere(cause: unknown): boolean {
  return (cause as { code?: unknown } | null | undefined)?.code === 'ECONNREFUSED'
}

/** An address for errors and trees: without its query, where many servers want a key. */
export function shownUrl({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?...'}`
}

/** One error for all: it is told after every answer, and a new one would cost more than the call. */
const noAnswer = Object.freeze(lostError('the response ended without the answer'))

/** The error for a request that still waits after a response of that media type, maybe a page. */
export function noAnswerIn(url: URL, type: string): TransportError {
  if (type === 'application/json' || type === 'text/event-stream' || type === '') return noAnswer
  return lostError(`${shownUrl(url)} answered with ${type}, expected application/json or text/event-stream`)
}

export function connectError(url: URL, cause: unknown): TransportError {
  const message = `${shownUrl(url)} cannot be reached: ${textOf(cause)}`
  return new TransportError('CONNECT_FAILED', message, { cause, retryable: true })
}

export function brokenError(cause: unknown, what = 'the connection'): TransportError {
  return cause instanceof TransportError ? cause : lostError(`${what} broke: ${textOf(cause)}`, cause)
}

/** The error for an answer that broke off; a CONNECTION_LOST says so already. */
export function interruptedError(cause: unknown): TransportError {
  if (cause instanceof TransportError && cause.code === 'CONNECTION_LOST') return cause
  return lostError(`the answer broke off: ${textOf(cause)}`, cause)
}

/** The error for an answer that broke off and cannot be resumed: the server is gone. */
export function goneError(cause: unknown): TransportError {
  return lostError(`the answer broke off, and the server is gone: ${textOf(cause)}`, cause, { gone: true })
}

/** CONNECTION_LOST, which may be tried again. */
export function lostError(message: string, cause?: unknown, data?: object): TransportError {
  const details = { ...(cause !== undefined && { cause }), data, retryable: true }
  return new TransportError('CONNECTION_LOST', message, details)
}

/** An AggregateError (several addresses tried) has no message of its own. */
function textOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message
  return messageOf(cause)
}

/** The error for a message that had not left when the session ended. */
export function notBegun(cause: TransportError | undefined): TransportError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  const message = `the session ended before it was sent${why}`
  return new TransportError('NOT_OPEN', message, { retryable: true, cause })
}

/** The same error with `data.sent`, where its code does not say whether the request had left. */
export function asFarAs(left: boolean, error: TransportError): TransportError {
  const { code, message, retryable, cause, data } = error
  if (left !== (code === 'CONNECT_FAILED' || code === 'SEND_FAILED')) return error
  const facts = typeof data === 'object' ? data : {}
  return new TransportError(code, message, { retryable, cause, data: { ...facts, sent: left } })
}

/**
 * What a status means for the connection (specification: transports, session management; authorization). 404
 * ends a session. 401 may mean the request or the connection, for which there are no other credentials, and 400
 * within a session the request or the session.
 */
export function judgeStatus(
  status: number,
  hasSession: boolean,
): 'fine' | 'session_gone' | 'session_doubtful' | 'unauthorized' | 'refused' {
  if (status >= 200 && status < 300) return 'fine'
  if (status === 401) return 'unauthorized'
  if (!hasSession) return 'refused'
  if (status === 400) return 'session_doubtful'
  return status === 404 ? 'session_gone' : 'refused'
}

/** The error for a status that ends the connection. */
export function endingError(
  verdict: 'session_gone' | 'unauthorized',
  { url, auth, headers: own }: Addressed,
  { status, headers, origin }: Refusal,
): TransportError {
  if (verdict === 'session_gone') {
    const message = 'the server does not know our session any more'
    return new TransportError('SESSION_NOT_FOUND', message, { retryable: true, data: { status } })
  }
  const challenge = headers['www-authenticate']
  const message =
    origin === url.origin
      ? wantsAuthorization('the server', auth !== undefined || Object.hasOwn(own, 'authorization'), challenge)
      : `${origin}, where ${shownUrl(url)} redirects to, wants authorization (401), which no redirect takes along: give its address to the transport`
  return new TransportError('UNAUTHORIZED', message, { data: { status, challenge } })
}

/** The error for a request that the server refused; 408, 425, 429 and 5xx may pass. */
export function refusedError(url: URL, { status, headers, origin }: Refusal, body: string): TransportError {
  const error = readError(body)?.error
  const words = error?.message ?? plainWords(body)
  const why = words === '' ? '' : `: ${words}`
  const hint =
    status === 404 && !/\/mcp\/?$/.test(url.pathname) ? ' (most servers have their endpoint at /mcp)' : ''
  const who = origin === url.origin ? shownUrl(url) : `${origin}, where ${shownUrl(url)} redirects to,`
  return new TransportError('HTTP_STATUS', `${who} answered with status ${status}${why}${hint}`, {
    retryable: isPassing(status),
    data: { status, error, retryAfter: headers['retry-after'] },
  })
}

/** Whether the body answers the request. What a broken or busy server says to a greeting is no verdict. */
export function answers(
  body: string,
  { id, method, status }: { readonly id: RequestId; readonly method: string; readonly status: number },
): boolean {
  if (method === 'server/discover' && (status === 403 || isPassing(status))) return false
  if (method === 'initialize' && isPassing(status)) return false
  return readError(body)?.id === id
}

/** Whether another try may get another status: the server is broken or busy (RFC 9110, 8470, 6585). */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429
}

/** The first 200 characters of the first line of a body that is text, and no page. */
function plainWords(body: string): string {
  const [line = ''] = body.trim().split(/\p{Cc}/u, 1)
  return line.startsWith('<') ? '' : cut(line, 200)
}

function readError(body: string): JsonRpcErrorResponse | undefined {
  try {
    const message = decode(body)
    return 'error' in message ? message : undefined
  } catch {
    return undefined // a page of a proxy, most likely
  }
}
