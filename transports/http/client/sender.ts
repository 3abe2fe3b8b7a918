import { lastingWorld } from '../../../runtime/process/context.js'
import type { LinkScope } from '../../contract/contract.js'
import type { TransportError } from '../../base/errors.js'
import { urlAt } from '../../base/target.js'
import {
  discard,
  type HttpDispatchers,
  type HttpRequest,
  type HttpResponse,
  openDispatchers,
} from '../outgoing/dispatcher.js'
import {
  asAuthError,
  authErrorOf,
  challengeOf,
  type ClientAuth,
  isRefusal,
  unauthorized,
  wantsNonce,
} from './auth.js'
import type { HttpClientSettings } from './options.js'

/** Refusals of one request that are answered with another try: sign in, then ask for more scopes. */
const maxRefusals = 2
/** Milliseconds after which a token that was refused may have been good when the request began to wait. */
const oldAfter = 1_000
/** Refusals of such tokens that are answered with another try. */
const maxOutdated = 3

/** Other credentials that were here already, tried one after the other. */
const maxTaken = 2

/** How a request gets a connection: see HttpDispatchers. */
type Way = 'send' | 'sendApart'

/** Sends the requests of one link, each with the headers that `auth` gives for it. */
export class HttpSender {
  readonly #settings: HttpClientSettings
  readonly #opening: Promise<HttpDispatchers>
  /** Known without a wait, once they are there. */
  #open: HttpDispatchers | undefined
  readonly #scope: LinkScope
  readonly #denied: (error: TransportError) => void

  /** `denied` is told before a request rejects as there are no credentials for it: no other has any. */
  constructor(settings: HttpClientSettings, scope: LinkScope, denied: (error: TransportError) => void) {
    this.#settings = settings
    this.#scope = scope
    this.#denied = denied
    this.#opening = openDispatchers(settings.url.origin, {
      ...settings,
      connections: settings.limits.connections,
      maxStreams: settings.limits.streams,
      clock: scope.clock,
    })
    this.#opening.then(
      (dispatchers) => {
        this.#open = dispatchers
      },
      () => {}, // told where it is awaited
    )
    scope.own(async () => {
      await (await this.#opening.catch(() => undefined))?.destroy()
    })
  }

  /** With `auth` also rejects with UNAUTHORIZED, INSUFFICIENT_SCOPE or AUTHORIZATION_UNAVAILABLE. */
  send(way: Way, request: HttpRequest): Promise<HttpResponse> {
    if (this.#open !== undefined) return this.#sendOn(this.#open, way, request)
    return this.#opening.then((dispatchers) => this.#sendOn(dispatchers, way, request))
  }

  /** Sends a request with the credentials that there are, and answers what comes, also a 401. */
  async probe(request: HttpRequest): Promise<HttpResponse> {
    const { auth, url } = this.#settings
    const { sendApart } = this.#open ?? (await this.#opening)
    if (auth === undefined) return sendApart(request)
    const { method, path, signal } = request
    const world = lastingWorld(this.#scope.world)
    const target = urlAt(url.origin, path)
    const sent = await asAuthError(() => auth.authorize({ url, target, method, signal, world }))
    return sendApart({ ...request, headers: { ...request.headers, ...sent } })
  }

  #sendOn(dispatchers: HttpDispatchers, way: Way, request: HttpRequest): Promise<HttpResponse> {
    const { auth } = this.#settings
    if (auth === undefined) return dispatchers[way](request)
    return this.#sendAuthorized(auth, (one) => dispatchers[way](one), request)
  }

  /**
   * Sends a request with what `auth` gives, and again once after a 401, once after a 403 for scopes and once
   * for a nonce; more often where it waited long for a connection or an answer. An answer of another origin,
   * which never saw our headers, is returned as it is.
   */
  async #sendAuthorized(
    auth: ClientAuth,
    send: (request: HttpRequest) => Promise<HttpResponse>,
    request: HttpRequest,
  ): Promise<HttpResponse> {
    const { url } = this.#settings
    const { signal, method, path } = request
    const target = urlAt(url.origin, path)
    const { clock } = this.#scope
    // a provider goes on when this transport has ended
    const world = lastingWorld(this.#scope.world)
    const seen = new Set<number>()
    let outdated = 0
    let taken = 0
    let hasNonce = false
    while (true) {
      const sent = await asAuthError(() => auth.authorize({ url, target, method, signal, world })).catch(
        (cause: TransportError) => {
          // a caller that gives up while a token is had says nothing of the token
          if (cause.code === 'UNAUTHORIZED' && !signal.aborted) this.#denied(cause)
          throw cause
        },
      )
      const since = clock.now()
      const response = await send({ ...request, headers: { ...request.headers, ...sent } })
      const { status } = response
      const challenge = challengeOf(response.headers)
      const elsewhere = response.origin !== url.origin
      if (!elsewhere) this.#tell(auth, response)
      if (!isRefusal(status, challenge) || elsewhere || auth.refused === undefined) return response
      discard(response, clock)
      if (wantsNonce(status, challenge)) {
        if (hasNonce) throw unauthorized(status, challenge)
        hasNonce = true
      } else if (clock.now() - since > oldAfter && outdated < maxOutdated) outdated += 1
      else if (seen.has(status) || seen.size >= maxRefusals) throw unauthorized(status, challenge)
      else seen.add(status)
      const refusal = { url, target, method, signal, world, status, challenge, sent }
      const how = await asAuthError(() => auth.refused?.(refusal), status)
      // they may have ended together
      if (how === 'taken' && taken < maxTaken) {
        taken += 1
        seen.delete(status)
      }
    }
  }

  #tell(auth: ClientAuth, response: HttpResponse): void {
    const { status, headers } = response
    try {
      auth.answered?.({ url: this.#settings.url, status, headers })
    } catch (cause) {
      discard(response, this.#scope.clock)
      throw authErrorOf(cause)
    }
  }
}
