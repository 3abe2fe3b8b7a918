import { decode } from '../../../protocol/wire/codec.js'
import type { JsonRpcErrorResponse, RequestId } from '../../../protocol/wire/jsonrpc.js'
import { TransportError } from '../../base/errors.js'
import { shownUrl } from './errors.js'
import type { HttpResponse } from '../outgoing/dispatcher.js'

/**
 * What a status means for the connection. The specification says what ends it: 404 once there is a session,
 * and 401, since we have no other credentials to try. 400 within a session leaves open whether the request or
 * the session is meant.
 */
export type Verdict = 'fine' | 'session_gone' | 'session_doubtful' | 'unauthorized' | 'refused'

/** Judges a status (specification: transports, session management; authorization). */
export function judgeStatus(status: number, hasSession: boolean): Verdict {
  if (status >= 200 && status < 300) return 'fine'
  if (status === 401) return 'unauthorized'
  if (!hasSession) return 'refused'
  if (status === 400) return 'session_doubtful'
  return status === 404 ? 'session_gone' : 'refused'
}

/** The error for a status that ends the connection. */
export function endingError(
  verdict: 'session_gone' | 'unauthorized',
  url: URL,
  { status, headers, origin }: Pick<HttpResponse, 'status' | 'headers' | 'origin'>,
): TransportError {
  if (verdict === 'session_gone') {
    return new TransportError('SESSION_NOT_FOUND', 'the server does not know our session any more', {
      retryable: true,
      data: { status },
    })
  }
  const challenge = headers['www-authenticate']
  const message =
    origin === url.origin
      ? 'the server wants authorization (401): give it with the option auth'
      : `${origin}, where ${shownUrl(url)} redirects to, wants authorization (401), which no redirect takes along: give its address to the transport`
  return new TransportError('UNAUTHORIZED', message, { data: { status, challenge } })
}

/** The error for a request that the server refused; 408, 425, 429 and 5xx may pass. */
export function refusedError(
  url: URL,
  { status, headers, origin }: Pick<HttpResponse, 'status' | 'headers' | 'origin'>,
  body: string,
): TransportError {
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

/** A request, and the status that it was refused with. */
export interface RefusedRequest {
  readonly id: RequestId
  readonly method: string
  readonly status: number
}

/**
 * Whether the body of a refusal is the JSON-RPC answer to this very request. What a server that is out of
 * order, or busy, says to a greeting is no verdict.
 */
export function answers(body: string, { id, method, status }: RefusedRequest): boolean {
  if (method === 'server/discover' && (status === 403 || status >= 500)) return false
  if (method === 'initialize' && isPassing(status)) return false
  return readError(body)?.id === id
}

/**
 * Whether another attempt may get another status: the server is out of order, or wants patience (RFC 9110,
 * 8470, 6585).
 */
export function isPassing(status: number): boolean {
  return status >= 500 || impatient.has(status)
}

/** The first line of a body that is a line of text, and no page. */
function plainWords(body: string): string {
  const [line = ''] = body.trim().split(/\p{Cc}/u, 1)
  return line.startsWith('<') ? '' : line.slice(0, maxWords)
}

/** Characters of a text that are told. */
const maxWords = 200
const impatient: ReadonlySet<number> = new Set([408, 425, 429])

function readError(body: string): JsonRpcErrorResponse | undefined {
  try {
    const message = decode(body)
    return 'error' in message ? message : undefined
  } catch {
    return undefined // a page of a proxy, most likely
  }
}
