import { messageOf } from '../../../runtime/base/errors.js'
import { TransportError } from '../../base/errors.js'
import { isPrivateAddress } from '../../base/private-address.js'
import type { HttpRequest, HttpResponse } from './dispatcher.js'

export interface RedirectRules {
  /** Redirects of one request that are followed; 0: none, the redirect is the answer. */
  readonly maxRedirects: number
  /** Whether they may lead to another origin. */
  readonly elsewhere: boolean
}

export interface Hop {
  readonly url: URL
  readonly request: HttpRequest
}

/** The headers that say what is asked, and not who asks. */
const plain =
  /^(?:accept|cache-control|content-type|last-event-id|mcp-method|mcp-name|mcp-protocol-version|mcp-param-.*)$/
const followed = new Set([301, 302, 307, 308])

/**
 * Where a response redirects its request; undefined when that must not be followed. The method stays, so 303
 * is not followed. Another origin gets no header of the user, nor the id of a session from elsewhere. Throws
 * HTTP_STATUS for what is dangerous: https to http, another scheme, a user and password.
 */
export function redirectOf(
  { status, headers }: HttpResponse,
  { url, request }: Hop,
  home: string,
  rules: RedirectRules,
): Hop | undefined {
  if (!followed.has(status) || rules.maxRedirects === 0) return undefined
  const { location } = headers
  if (typeof location !== 'string' || !URL.canParse(location, url.href)) return undefined
  const target = new URL(location, url)
  if (target.origin !== url.origin) {
    if (!rules.elsewhere) throw redirectError(status, target, 'to another origin')
    if (target.protocol !== 'https:' && target.protocol !== url.protocol)
      throw redirectError(status, target, 'to another scheme')
    if (target.username !== '' || target.password !== '')
      throw redirectError(status, target, 'with a user and password')
  }
  const path = target.pathname + target.search
  if (target.origin === home && url.origin === home) return { url: target, request: { ...request, path } }
  return { url: target, request: { ...request, path, headers: headersFor(target, request) } }
}

function headersFor({ origin }: URL, { headers, sessionOrigin }: HttpRequest): HttpRequest['headers'] {
  const kept = ([name]: readonly [string, string]): boolean =>
    plain.test(name) || (name === 'mcp-session-id' && sessionOrigin === origin)
  return Object.fromEntries(Object.entries(headers).filter(kept))
}

export function redirectError(status: number, { origin }: URL, what: string): TransportError {
  return new TransportError('HTTP_STATUS', `a redirect ${what} is not followed: ${origin}`, {
    data: { status, location: origin },
  })
}

/** The error for a failure at the address of a hop: the redirect failed, not the connection to the server. */
export function awayFailure(status: number, { url: { origin } }: Hop, cause: unknown): TransportError {
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
