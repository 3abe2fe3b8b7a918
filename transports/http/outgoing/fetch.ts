import { isObject, type JsonObject } from '../../../protocol/wire/json.js'
import { type Clock, systemClock } from '../../../runtime/time/clock.js'
import { withDeadline } from '../../../runtime/time/wait.js'
import { outside } from '../../../runtime/faults/containment.js'
import { messageOf } from '../../../runtime/base/errors.js'
import { TransportError } from '../../base/errors.js'
import { isLinkLocal, type LookupAll, publicLookup, routedLookup } from '../../base/private-address.js'
import { isSecureUrl } from '../../base/secure-url.js'
import {
  discard,
  type DispatcherOptions,
  type HttpDispatchers,
  type HttpRequest,
  type HttpResponse,
  openDispatchers,
  readText,
} from './dispatcher.js'
import { isPrivateTarget } from './redirect.js'

const mostBytes = 1024 * 1024
const maxHops = 3

interface FetchRequest extends Partial<Pick<HttpRequest, 'method' | 'headers' | 'body'>> {
  /** Milliseconds until the whole answer has to be there. */
  readonly timeout: number
  /** Bytes of an answer. Default 1 MiB. */
  readonly maxBytes?: number
  /** What measures them. Default: the clock of this machine. */
  readonly clock?: Clock | undefined
}

export interface SafeRequest extends FetchRequest {
  readonly signal: AbortSignal
  /** Whether addresses of this machine and network are fine. */
  readonly privateNetwork: boolean
  /** Redirects of a GET that are followed. Default 3. */
  readonly maxRedirects?: number
  /** How names are looked up. Default: as the system does. */
  readonly lookup?: LookupAll
}

export interface SafeAnswer {
  readonly status: number
  readonly headers: HttpResponse['headers']
  readonly text: string
}

/**
 * Asks an address that the far side has chosen: https, or http on this machine. It is never an address of
 * this machine or network unless that is allowed, and never a link-local one, which is checked when it is
 * dialled. A GET follows three redirects at most, each checked alike; a POST none. Rejects with
 * AUTHORIZATION_UNAVAILABLE, retryable where that may pass; the message names the address without its query.
 */
export function safeFetch(address: string, request: SafeRequest): Promise<SafeAnswer> {
  // what is fetched is for all who wait: it runs outside the scope of the first
  return outside(async () => {
    const { timeout, clock = systemClock } = request
    return withDeadline(timeout, clock, (late) =>
      follow(address, request, AbortSignal.any([request.signal, late])),
    )
  })
}

async function follow(address: string, request: SafeRequest, signal: AbortSignal): Promise<SafeAnswer> {
  const { privateNetwork, lookup: lookupAll, maxRedirects = maxHops } = request
  const lookup = privateNetwork ? routedLookup(lookupAll) : publicLookup(lookupAll)
  let next = address
  for (let hops = 0; ; hops++) {
    const url = admitted(next, request)
    const answer = await ask(url, { ...request, signal }, lookup, (status) => status < 300 || status >= 400)
    const location = answer.headers.location
    const isRedirect = answer.status >= 300 && answer.status < 400 && typeof location === 'string'
    if (!isRedirect || request.method === 'POST') return answer
    if (hops === maxRedirects || !URL.canParse(location, url.href))
      throw refusal(url, `redirects more than ${maxRedirects} times`)
    next = new URL(location, url).href
  }
}

/** Asks an authorization server of the options, without redirects. Rejects with AUTHORIZATION_UNAVAILABLE. */
export function fetchJson(address: string, request: FetchRequest): Promise<JsonObject> {
  // what is fetched is for all who wait: it runs outside the scope of the first
  return outside(async () => {
    const url = new URL(address)
    const { timeout, clock = systemClock } = request
    const { status, text } = await withDeadline(timeout, clock, (signal) =>
      ask(url, { ...request, signal }, undefined, (code) => code === 200),
    )
    const value = status === 200 ? parse(text) : undefined
    if (isObject(value)) return value
    throw unavailable(url, new Error(status === 200 ? 'expected a JSON object' : `status ${status}`))
  })
}

/** One request on a connection of its own; the text of an answer whose status is not wanted is not read. */
async function ask(
  url: URL,
  {
    method = 'GET',
    headers,
    body,
    signal,
    timeout,
    maxBytes = mostBytes,
  }: FetchRequest & Pick<HttpRequest, 'signal'>,
  lookup: DispatcherOptions['lookup'],
  isWanted: (status: number) => boolean,
): Promise<SafeAnswer> {
  let dispatchers: HttpDispatchers | undefined
  try {
    dispatchers = await openDispatchers(url.origin, { connections: 1, connectTimeout: timeout, lookup })
    const answer = await dispatchers.send({
      method,
      path: url.pathname + url.search,
      headers: { accept: 'application/json', ...headers },
      signal,
      body,
    })
    const isRead = isWanted(answer.status)
    if (!isRead) discard(answer)
    const text = isRead ? await readText(answer.body, maxBytes) : ''
    return { status: answer.status, headers: answer.headers, text }
  } catch (cause) {
    throw unavailable(url, cause)
  } finally {
    await dispatchers?.destroy()
  }
}

/** What came may be anything, and is not repeated. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function admitted(address: string, { privateNetwork }: SafeRequest): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !isSecureUrl(url.href)) throw refusal(url, 'is no https address')
  if (isLinkLocal(url.hostname)) throw refusal(url, 'is a link-local address')
  if (!privateNetwork && isPrivateTarget(url)) throw refusal(url, 'is an address of this machine or network')
  return url
}

function unavailable(url: URL, cause: unknown): TransportError {
  const isPrivate = (cause as { code?: unknown } | null)?.code === 'ERR_PRIVATE_ADDRESS'
  const message = `${url.origin}${url.pathname}: ${messageOf(cause)}`
  return new TransportError('AUTHORIZATION_UNAVAILABLE', message, { cause, retryable: !isPrivate })
}

function refusal(url: URL | undefined, why: string): TransportError {
  const where = url === undefined ? 'an address of the authorization' : `${url.origin}${url.pathname}`
  return new TransportError('AUTHORIZATION_UNAVAILABLE', `${where} ${why}: it is not asked`)
}
