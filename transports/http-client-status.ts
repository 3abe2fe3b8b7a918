import { decode } from '../protocol/codec.js'
import type { JsonRpcErrorResponse, RequestId } from '../protocol/jsonrpc.js'
import { TransportError } from './errors.js'
import { shownUrl } from './http-client-errors.js'
import type { HttpResponse } from './http-dispatcher.js'

/**
 * What a status means for the connection. The specification says what ends it: 404 once there is a session, and 401, since we have no other
 * credentials to try. 400 within a session leaves open whether the request or the session is meant.
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
  { status, headers }: HttpResponse,
): TransportError {
  if (verdict === 'session_gone') {
    return new TransportError('SESSION_NOT_FOUND', 'the server does not know our session any more', {
      retryable: true,
      data: { status },
    })
  }
  const challenge = headers['www-authenticate']
  const message = 'the server wants authorization (401): give it with the option auth'
  return new TransportError('UNAUTHORIZED', message, { data: { status, challenge } })
}

/** The error for a request that the server refused; 408, 429 and 5xx may pass. */
export function refusedError(url: URL, { status, headers }: HttpResponse, body: string): TransportError {
  const error = readError(body)?.error
  const why = error === undefined ? '' : `: ${error.message}`
  return new TransportError('HTTP_STATUS', `${shownUrl(url)} answered with status ${status}${why}`, {
    retryable: status >= 500 || status === 408 || status === 429,
    data: { status, error, retryAfter: headers['retry-after'] },
  })
}

/** Whether the body of a refusal is the JSON-RPC answer to this very request. */
export function answers(body: string, id: RequestId): boolean {
  return readError(body)?.id === id
}

function readError(body: string): JsonRpcErrorResponse | undefined {
  try {
    const message = decode(body)
    return 'error' in message ? message : undefined
  } catch {
    return undefined // a page of a proxy, most likely
  }
}
