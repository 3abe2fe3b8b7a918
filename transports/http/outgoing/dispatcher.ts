import type { Agent, Dispatcher } from 'undici'
import type { Clock } from '../../../runtime/time/clock.js'
import { lazy } from '../../../runtime/faults/load.js'
import { TransportError } from '../../base/errors.js'
import { type Departure, discard, exchange, type HttpResponse } from './exchange.js'
import { type HttpPools, openPools } from './pools.js'
import { awayFailure, type Hop, redirectOf, type RedirectRules, tooManyRedirects } from './redirect.js'
import type { SocketLookup } from '../../base/private-address.js'
import type { TlsSettings } from './tls-options.js'

/** What undici exports, once it is loaded. */
export type Undici = typeof import('undici')
/** Its connections to one place, or to many. */
export type { Agent as UndiciAgent, Dispatcher as UndiciDispatcher }
export { type Departure, discard, type HttpResponse, readStart, readText } from './exchange.js'

/** One HTTP request; to the origin that the dispatchers were opened for, until it is redirected. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
  /** Where it is noted how far it got. Default: nobody wants to know. */
  readonly departure?: Departure | undefined
  /**
   * Where the session began whose id is among the headers: it goes nowhere else. Default: the origin of the
   * dispatchers.
   */
  readonly sessionOrigin?: string | undefined
}

/** The connections of one client. */
export interface HttpDispatchers {
  /**
   * Sends a request on one of a bounded number of connections, of which it has one to itself until its
   * response has ended.
   */
  send(request: HttpRequest): Promise<HttpResponse>
  /**
   * Sends a request that must not wait behind others (a stream, a cancellation): it gets a connection
   * whatever is open. Rejects with SEND_FAILED beyond `maxStreams`.
   */
  sendApart(request: HttpRequest): Promise<HttpResponse>
  /** Responses to `sendApart` that have not ended. */
  readonly apart: number
  /** Ends every connection and request at once. */
  destroy(): Promise<void>
}

/** How connections are made. */
export interface DispatcherOptions {
  readonly connections: number
  readonly connectTimeout: number
  /** Responses to `sendApart` at once. Default: no limit. */
  readonly maxStreams?: number
  readonly tls?: TlsSettings | undefined
  readonly proxy?: URL | undefined
  /** Finds the addresses that are dialled, directly only. Default: as the system does. */
  readonly lookup?: SocketLookup
  /** Which redirects are followed. Default none. */
  readonly redirects?: RedirectRules
  /** For what nobody waits for; without it, connections end with `destroy` at the latest. */
  readonly clock?: Clock
}

/** A program without HTTP clients never loads it. */
export const loadUndici = lazy('undici', () => import('undici'))

const noRedirects: RedirectRules = { maxRedirects: 0, elsewhere: false }

/**
 * Loads undici and opens the two pools of one client. There is no limit on how
 * long a response may take: a tool may work for minutes, and a stream be silent; deadlines are the client's.
 */
export async function openDispatchers(origin: string, options: DispatcherOptions): Promise<HttpDispatchers> {
  const undici = await loadUndici()
  const { connections, maxStreams = Number.POSITIVE_INFINITY, redirects = noRedirects, clock } = options
  const pools = { undici, origin, options }
  const bounded = openPools(pools, connections)
  const unbounded = openPools(pools, null)
  let apart = 0
  return {
    send: (request) => follow(bounded, request, redirects, clock),
    async sendApart(request) {
      if (apart >= maxStreams) throw tooManyStreams(apart)
      apart += 1
      try {
        const response = await follow(unbounded, request, redirects, clock)
        if (response.complete) apart -= 1
        else
          response.body.once('close', () => {
            apart -= 1
          })
        return response
      } catch (error) {
        apart -= 1
        throw error
      }
    },
    get apart() {
      return apart
    },
    async destroy() {
      await Promise.all([bounded.destroy(), unbounded.destroy()])
    },
  }
}

/** Sends a request, and again to where it is redirected. */
function follow(
  pools: HttpPools,
  request: HttpRequest,
  rules: RedirectRules,
  clock: Clock | undefined,
): Promise<HttpResponse> {
  return send(pools.home, request, pools.origin).then((response) =>
    response.status < 300 || response.status >= 400
      ? response
      : followFrom(response, pools, request, rules, clock),
  )
}

async function followFrom(
  first: HttpResponse,
  pools: HttpPools,
  request: HttpRequest,
  rules: RedirectRules,
  clock: Clock | undefined,
): Promise<HttpResponse> {
  const { origin } = pools
  let hop: Hop = {
    url: new URL(request.path, origin),
    request: { ...request, sessionOrigin: request.sessionOrigin ?? origin },
  }
  let response = first
  for (let hops = 0; ; hops++) {
    const next = redirectOf(response, hop, origin, rules)
    if (next === undefined) return response
    discard(response, clock)
    if (hops === rules.maxRedirects) throw tooManyRedirects(response, rules.maxRedirects)
    hop = next
    const dispatcher = await pools.to(hop.url, response.status)
    response = await send(dispatcher, hop.request, hop.url.origin).catch((cause: unknown) => {
      throw hop.url.origin === origin || hop.request.signal.aborted
        ? cause
        : awayFailure(response, hop, cause)
    })
  }
}

function send(
  dispatcher: Dispatcher,
  { method, path, headers, body, signal, departure }: HttpRequest,
  origin: string,
): Promise<HttpResponse> {
  return exchange(dispatcher, { method, path, headers, origin, body: body ?? null }, { signal, departure })
}

function tooManyStreams(open: number): TransportError {
  return new TransportError('SEND_FAILED', `${open} streams are open already`, { retryable: true })
}
