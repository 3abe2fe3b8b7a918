import type { Dispatcher } from 'undici'
import type { Clock } from '../../../runtime/time/clock.js'
import { lazy } from '../../../runtime/faults/load.js'
import { TransportError } from '../../base/errors.js'
import { badOption } from '../../base/read-option.js'
import { urlAt } from '../../base/target.js'
import {
  isLinkLocal,
  isPrivateHost,
  publicLookup,
  routedLookup,
  type SocketLookup,
} from '../../base/private-address.js'
import { type Departure, discard, type Dispatching, exchange, type HttpResponse } from './exchange.js'
import { FetchDispatcher } from './fetch-dispatcher.js'
import {
  awayFailure,
  type Hop,
  isPrivateTarget,
  redirectError,
  redirectOf,
  type RedirectRules,
} from './redirect.js'
import type { TlsSettings } from './tls-options.js'

export { type Departure, discard, type HttpResponse, readStart, readText } from './exchange.js'

/** One HTTP request; to the origin that the dispatchers were opened for, until it is redirected. */
export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | 'TRACE'
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal: AbortSignal
  /** Records how far the request got. Default: not recorded. */
  readonly departure?: Departure | undefined
  /** Where the session of these headers began: it goes nowhere else. Default: the dispatchers' origin. */
  readonly sessionOrigin?: string | undefined
}

export interface HttpDispatchers {
  /** Sends a request on one of `connections` connections, which it has to itself until it is answered. */
  send(request: HttpRequest): Promise<HttpResponse>
  /** Sends without waiting (a stream, a cancellation). Rejects with SEND_FAILED beyond `maxStreams`. */
  sendApart(request: HttpRequest): Promise<HttpResponse>
  /** Ends every connection and request at once. */
  destroy(): Promise<void>
}

export interface DispatcherOptions {
  readonly connections: number
  readonly connectTimeout: number
  /** Responses to `sendApart` at once. Default: no limit. */
  readonly maxStreams?: number
  readonly tls?: TlsSettings | undefined
  readonly proxy?: URL | undefined
  /** Finds the addresses that are dialled, where there is no proxy. Default: as the system does. */
  readonly lookup?: SocketLookup | undefined
  /** Which redirects are followed. Default none. */
  readonly redirects?: RedirectRules
  /** Limits the time of bodies that are thrown away; without it, `destroy` ends them. */
  readonly clock?: Clock
}

/**
 * A program without HTTP clients never loads it. By its file: for the bare name, Bun has one of its own, which
 * dispatches nothing.
 */
export const loadUndici = /* @__PURE__ */ lazy('undici/index.js', () => import('undici/index.js'))

/**
 * Loads undici and opens two pools. Responses take as long as they like: deadlines are the client's. On a
 * host without undici (`browser` of package.json) its `fetch` takes the place of both. Rejects with
 * BAD_OPTION for `tls` and `proxy` there.
 */
export async function openDispatchers(origin: string, options: DispatcherOptions): Promise<HttpDispatchers> {
  const undici: Partial<typeof import('undici')> = await loadUndici()
  if (!isWhole(undici)) refuseForFetch(options)
  const { connections, maxStreams = Number.POSITIVE_INFINITY } = options
  const make = isWhole(undici) ? poolsOf(undici) : fetchPools
  const bounded = new HttpPools(make, origin, options, connections)
  const unbounded = new HttpPools(make, origin, options, null)
  let apart = 0
  return {
    send: (request) => bounded.send(request),
    async sendApart(request) {
      if (apart >= maxStreams) {
        throw new TransportError('SEND_FAILED', `${apart} streams are open already`, { retryable: true })
      }
      apart += 1
      try {
        const response = await unbounded.send(request)
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
    async destroy() {
      await Promise.all([bounded.destroy(), unbounded.destroy()])
    },
  }
}

const noRedirects: RedirectRules = { maxRedirects: 0, elsewhere: false }

/** The connections to the origin of a client, and to wherever that redirects; nothing is connected yet. */
class HttpPools {
  readonly #make: PoolMaker
  readonly #origin: string
  readonly #rules: RedirectRules
  readonly #clock: Clock | undefined
  readonly #isProxied: boolean
  readonly #common: object
  readonly #connect: object
  readonly #home: Dispatching
  #elsewhere: Promise<Dispatching> | undefined

  /** `connections` at most to one origin; null: as many as are asked for. */
  constructor(
    make: PoolMaker,
    origin: string,
    { connectTimeout, proxy, tls, lookup, redirects = noRedirects, clock }: DispatcherOptions,
    connections: number | null,
  ) {
    const connect = {
      timeout: connectTimeout,
      ...tls,
      ...(lookup !== undefined && { lookup: lookup as never }),
    }
    const common = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connections }
    this.#make = make
    this.#origin = origin
    this.#rules = redirects
    this.#clock = clock
    this.#isProxied = proxy !== undefined
    this.#common = common
    this.#connect = connect
    this.#home = make.home(origin, { common, connect, proxy })
  }

  send(request: HttpRequest): Promise<HttpResponse> {
    return exchange(this.#home, request, this.#origin).then((response) =>
      response.status < 300 || response.status >= 400 ? response : this.#follow(response, request),
    )
  }

  async #follow(first: HttpResponse, request: HttpRequest): Promise<HttpResponse> {
    const { maxRedirects } = this.#rules
    const origin = this.#origin
    let hop: Hop = {
      url: urlAt(origin, request.path),
      request: { ...request, sessionOrigin: request.sessionOrigin ?? origin },
    }
    let response = first
    for (let hops = 0; ; hops++) {
      const next = redirectOf(response, hop, origin, this.#rules)
      if (next === undefined) return response
      discard(response, this.#clock)
      const { status } = response
      if (hops === maxRedirects) {
        const message = `the server redirected more than ${maxRedirects} times`
        throw new TransportError('HTTP_STATUS', message, { data: { status } })
      }
      hop = next
      const dispatcher = await this.#to(hop.url, status)
      response = await exchange(dispatcher, hop.request, hop.url.origin).catch((cause: unknown) => {
        throw hop.url.origin === origin || hop.request.signal.aborted
          ? cause
          : awayFailure(status, hop, cause)
      })
    }
  }

  /**
   * The connections for a redirect with this status. None leads to a link-local address, and from an origin
   * of the public internet none leads into our own network: rejects with HTTP_STATUS for an address, and what
   * is sent there with ERR_PRIVATE_ADDRESS for a name. Behind a proxy names are its business.
   */
  async #to(url: URL, status: number): Promise<Dispatching> {
    if (url.origin === this.#origin) return this.#home
    const { hostname } = new URL(this.#origin)
    if (isPrivateTarget(url) && !(await isPrivateHost(hostname)))
      throw redirectError(status, url, 'to an address of this machine or network')
    // where clouds have the credentials of their machines
    if (isLinkLocal(url.hostname)) throw redirectError(status, url, 'to a link-local address')
    if (this.#isProxied) return this.#home
    this.#elsewhere ??= isPrivateHost(hostname).then((isPrivate) => {
      const connect = { ...this.#connect, lookup: isPrivate ? routedLookup() : publicLookup() }
      return this.#make.elsewhere(this.#common, connect)
    })
    return this.#elsewhere
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#home.destroy(), this.#elsewhere?.then((agent) => agent.destroy())])
  }
}

/** Where connections come from. */
interface PoolMaker {
  /** Connections to one origin. */
  home(
    origin: string,
    options: { readonly common: object; readonly connect: object; readonly proxy: URL | undefined },
  ): Dispatching
  /** Connections to any. */
  elsewhere(common: object, connect: object): Dispatching
}

function isWhole(undici: Partial<typeof import('undici')>): undici is typeof import('undici') {
  return undici.Pool !== undefined
}

function poolsOf(undici: typeof import('undici')): PoolMaker {
  const factory = (to: string | URL, given: object): Dispatcher => poolOf(undici, to, given)
  return {
    home: (origin, { common, connect, proxy }) =>
      proxy === undefined
        ? poolOf(undici, origin, { ...common, connect })
        : new undici.ProxyAgent({
            ...common,
            uri: proxy.href,
            requestTls: connect,
            proxyTls: connect,
            factory,
            clientFactory: factory,
          }),
    elsewhere: (common, connect) => new undici.Agent({ ...common, connect: connect as object, factory }),
  }
}

const fetchPools: PoolMaker = {
  home: () => new FetchDispatcher(),
  elsewhere: () => new FetchDispatcher(),
}

/** Certificates and proxies are the host's there. */
function refuseForFetch({ tls, proxy }: DispatcherOptions): void {
  if (proxy !== undefined) throw badOption('proxy', 'nothing, where requests are sent by fetch', proxy.origin)
  if (tls !== undefined) throw badOption('tls', 'nothing, where requests are sent by fetch', 'options')
}

/**
 * A pool that knows all of its connections. Left alone it forgets one that could not be made, but has it take
 * requests still: such a connection counts for no bound, and nobody ends it (undici 7.30, `pool.js`).
 */
function poolOf(undici: typeof import('undici'), origin: string | URL, options: object): Dispatcher {
  const pool = new undici.Pool(origin, options)
  pool.removeAllListeners('connectionError')
  return pool
}
