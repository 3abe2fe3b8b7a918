import type { Clock } from '../../../runtime/time/clock.js'
import { authError, type ClientAuth, unauthorized } from './auth.js'
import { TransportError } from '../../base/errors.js'
import { discard, type HttpRequest, type HttpResponse } from '../outgoing/dispatcher.js'

/** Refusals of one request that are answered with another try: sign in, then ask for more scopes. */
const maxRefusals = 2

/** How one request gets its headers, and where it is sent. */
export interface Authorized {
  readonly auth: ClientAuth
  readonly url: URL
  readonly clock: Clock
  readonly send: (request: HttpRequest) => Promise<HttpResponse>
  /** Told before it rejects with UNAUTHORIZED: no request will get through. */
  readonly denied: (error: TransportError) => void
}

/**
 * Sends a request with what `auth` gives for it, and again when it was refused for that: at most once after a
 * 401, and once after a 403 for lack of scopes. Rejects with TransportError UNAUTHORIZED, INSUFFICIENT_SCOPE
 * or AUTHORIZATION_UNAVAILABLE. An answer of another origin, which never saw our headers, is given as it is.
 */
export async function sendAuthorized(how: Authorized, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await sendAndAgain(how, request)
  } catch (cause) {
    if (cause instanceof TransportError && cause.code === 'UNAUTHORIZED') how.denied(cause)
    throw cause
  }
}

async function sendAndAgain(
  { auth, url, send, clock }: Authorized,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { signal } = request
  const seen = new Set<number>()
  while (true) {
    const sent = await asOurs(() => auth.authorize({ url, signal }))
    const response = await send({ ...request, headers: { ...request.headers, ...sent } })
    const { status } = response
    const challenge = challengeOf(response.headers)
    const elsewhere = response.origin !== undefined && response.origin !== url.origin
    if (!isRefusal(status, challenge) || elsewhere || auth.refused === undefined) return response
    discard(response, clock)
    if (seen.has(status) || seen.size >= maxRefusals) throw unauthorized(status, challenge)
    seen.add(status)
    await asOurs(() => auth.refused?.({ url, signal, status, challenge, sent }), status)
  }
}

/** The `WWW-Authenticate` header, which may have come in several lines. */
export function challengeOf(headers: HttpResponse['headers']): string | undefined {
  const value = headers['www-authenticate']
  return typeof value === 'object' ? value.join(', ') : value
}

/** Whether a status asks for other credentials; a 403 does with this error only (RFC 6750, section 3.1). */
export function isRefusal(status: number, challenge: string | undefined): status is 401 | 403 {
  return status === 401 || (status === 403 && /\binsufficient_scope\b/.test(challenge ?? ''))
}

/** Runs code of an `auth`; what it throws is a TransportError. */
export async function asOurs<T>(work: () => T | Promise<T>, status: 401 | 403 = 401): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw authError(cause, status)
  }
}
