import { messageOf } from '../../../runtime/base/errors.js'
import { TransportError } from '../../base/errors.js'
import type { HttpRequest, HttpResponse } from './dispatcher.js'
import { isPrivateAddress } from '../../base/private-address.js'

/** What may be followed. */
export interface RedirectRules {
  /** Redirects of one request that are followed; 0: none, the redirect is the answer. */
  readonly maxRedirects: number
  /** Whether they may lead to another origin. */
  readonly elsewhere: boolean
}

/** One more hop of a request. */
export interface Hop {
  readonly url: URL
  readonly request: HttpRequest
}

/** The headers that say what is asked, and not who asks. */
const plain =
  /^(?:accept|cache-control|content-type|last-event-id|mcp-method|mcp-name|mcp-protocol-version|mcp-param-.*)$/
const followed = new Set([301, 302, 307, 308])

/**
 * Where a response sends its request; undefined when it does not, or when it may not be followed there: then
 * it is the answer. The method stays what it was, since a POST that becomes a GET would be another request,
 * so 303 is not followed. Where the origin changes, every header of the user is dropped, and the id of a
 * session that began elsewhere. Throws HTTP_STATUS for what is dangerous: https to http, another scheme, a
 * user and password, an address of this machine or network from a public one.
 */
export function redirectOf(
  response: HttpResponse,
  { url, request }: Hop,
  home: string,
  rules: RedirectRules,
): Hop | undefined {
  if (!followed.has(response.status) || rules.maxRedirects === 0) return undefined
  const { location } = response.headers
  if (typeof location !== 'string' || !URL.canParse(location, url.href)) return undefined
  const target = new URL(location, url)
  if (target.origin !== url.origin) {
    if (!rules.elsewhere) throw refused(response, target, 'to another origin')
    if (target.protocol !== 'https:' && target.protocol !== url.protocol)
      throw refused(response, target, 'to another scheme')
    if (target.username !== '' || target.password !== '')
      throw refused(response, target, 'with a user and password')
  }
  const path = target.pathname + target.search
  if (target.origin === home && url.origin === home) return { url: target, request: { ...request, path } }
  return { url: target, request: { ...request, path, headers: headersFor(target, request) } }
}

/** The error for a redirect into our own network, or for the address behind its name. */
export function privateTarget(response: Pick<HttpResponse, 'status'>, target: URL): TransportError {
  return refused(response, target, 'to an address of this machine or network')
}

/** The error for a redirect to where clouds have the credentials of their machines. */
export function linkLocalTarget(response: Pick<HttpResponse, 'status'>, target: URL): TransportError {
  return refused(response, target, 'to a link-local address')
}

/**
 * What a failure at the address of a hop is told as: the one redirect failed, and not the connection to the
 * server. A name of our own network is as forbidden as its address.
 */
export function awayFailure(
  { status }: Pick<HttpResponse, 'status'>,
  { url: { origin } }: Hop,
  cause: unknown,
): TransportError {
  if (cause instanceof TransportError) return cause
  const message = `a redirect leads to ${origin}, which cannot be reached: ${messageOf(cause)}`
  const isForbidden = (cause as { code?: unknown } | null)?.code === 'ERR_PRIVATE_ADDRESS'
  const details = { cause, retryable: !isForbidden, data: { status, location: origin } }
  return new TransportError('HTTP_STATUS', message, details)
}

/** Whether the address of a target, written as such, is one of this machine or network. */
export function isPrivateTarget({ hostname }: URL): boolean {
  return isPrivateAddress(hostname) === true || /(?:^|\.)localhost$/i.test(hostname)
}

/** The error for a request that is sent from one address to the next. */
export function tooManyRedirects({ status }: HttpResponse, most: number): TransportError {
  const message = `the server redirected more than ${most} times`
  return new TransportError('HTTP_STATUS', message, { data: { status } })
}

function headersFor({ origin }: URL, { headers, sessionOrigin }: HttpRequest): HttpRequest['headers'] {
  const kept = ([name]: readonly [string, string]): boolean =>
    plain.test(name) || (name === 'mcp-session-id' && sessionOrigin === origin)
  return Object.fromEntries(Object.entries(headers).filter(kept))
}

function refused({ status }: Pick<HttpResponse, 'status'>, { origin }: URL, what: string): TransportError {
  return new TransportError('HTTP_STATUS', `a redirect ${what} is not followed: ${origin}`, {
    data: { status, location: origin },
  })
}
