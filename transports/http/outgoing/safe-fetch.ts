import { outside } from '../../../runtime/faults/containment.js'
import { messageOf } from '../../../runtime/base/errors.js'
import { isSecureUrl } from '../../base/secure-url.js'
import { TransportError } from '../../base/errors.js'
import { discard, type HttpResponse, openDispatchers, readText } from './dispatcher.js'
import { isPrivateTarget } from './redirect.js'
import { isLinkLocal, type LookupAll, publicLookup, routedLookup } from '../../base/private-address.js'

const maxBytes = 1024 * 1024
const maxHops = 3

/** One request to an address that the far side has named. */
export interface SafeRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
  /** Milliseconds until the whole answer has to be there. */
  readonly timeout: number
  /** Whether addresses of this machine and network are fine. */
  readonly privateNetwork: boolean
  /** How names are looked up. Default: as the system does. */
  readonly lookup?: LookupAll
}

/** An answer, read to its end. */
export interface SafeAnswer {
  readonly status: number
  readonly headers: HttpResponse['headers']
  readonly text: string
}

/**
 * Asks an address that somebody else has chosen: https, or http on this machine, and never an address of this
 * machine or network unless that is allowed, nor a link-local one, which is checked when it is dialled. A GET
 * follows three redirects at most, each checked alike and without headers of its own; a POST none. Rejects
 * with AUTHORIZATION_UNAVAILABLE, retryable where that may pass; the message names the address without its
 * query.
 */
export function safeFetch(address: string, request: SafeRequest): Promise<SafeAnswer> {
  // what is fetched is for all who wait, not for whoever needed it first
  return outside(async () => {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeout)])
    let next = address
    for (let hops = 0; ; hops++) {
      const url = admitted(next, request)
      const answer = await ask(url, { ...request, signal })
      const location = answer.headers.location
      const isRedirect = answer.status >= 300 && answer.status < 400 && typeof location === 'string'
      if (!isRedirect || request.method === 'POST') return answer
      if (hops === maxHops || !URL.canParse(location, url.href))
        throw refusal(url, `redirects more than ${maxHops} times`)
      next = new URL(location, url).href
    }
  })
}

function admitted(address: string, { privateNetwork }: SafeRequest): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !isSecureUrl(url.href)) throw refusal(url, 'is no https address')
  if (isLinkLocal(url.hostname)) throw refusal(url, 'is a link-local address')
  if (!privateNetwork && isPrivateTarget(url)) throw refusal(url, 'is an address of this machine or network')
  return url
}

async function ask(url: URL, request: SafeRequest): Promise<SafeAnswer> {
  const { method = 'GET', headers = {}, body, signal, timeout, privateNetwork, lookup } = request
  const dispatchers = await openDispatchers(url.origin, {
    connections: 1,
    connectTimeout: timeout,
    lookup: privateNetwork ? routedLookup(lookup) : publicLookup(lookup),
  })
  try {
    const answer = await dispatchers.send({
      method,
      path: url.pathname + url.search,
      headers: { accept: 'application/json', ...headers },
      signal,
      ...(body === undefined ? {} : { body }),
    })
    if (answer.status >= 300 && answer.status < 400) discard(answer)
    const text = answer.status >= 300 && answer.status < 400 ? '' : await readText(answer.body, maxBytes)
    return { status: answer.status, headers: answer.headers, text }
  } catch (cause) {
    const isPrivate = (cause as { code?: unknown } | null)?.code === 'ERR_PRIVATE_ADDRESS'
    const message = `${url.origin}${url.pathname}: ${messageOf(cause)}`
    throw new TransportError('AUTHORIZATION_UNAVAILABLE', message, { cause, retryable: !isPrivate })
  } finally {
    await dispatchers.destroy()
  }
}

function refusal(url: URL | undefined, why: string): TransportError {
  const where = url === undefined ? 'an address of the authorization' : `${url.origin}${url.pathname}`
  return new TransportError('AUTHORIZATION_UNAVAILABLE', `${where} ${why}: it is not asked`)
}
