import type { IncomingMessage } from 'node:http'
import { isObject } from '../../protocol/wire/json.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { pathOf } from '../base/target.js'
import type { Peer } from '../contract/contract.js'
import { isSamePrincipal, type Principal, readPrincipal } from '../contract/principal.js'
import type { Standing, StandingToken } from '../contract/standing.js'
import { checkToken, denialOf, type TimedAuthenticate } from './authenticate.js'
import type { AuthSettings } from './options.js'
import { isDPoP, withImplied } from './scopes.js'
import { boundTo, refused } from './tokens.js'

/** Milliseconds that an answer is good for, where the verifier does not say so. */
const askAgainAfter = 10_000

interface Watched {
  /** The one that came with the token. */
  readonly request: Pick<IncomingMessage, 'headers' | 'method' | 'url'>
  /** Who sent it. */
  readonly peer: Peer
  readonly principal: Principal
  readonly settings: TimedAuthenticate
  readonly world: World
  readonly report: (error: unknown) => void
}

/** Whether whoever was let in is asked about again. */
export function isWatched({ auth, authenticate }: TimedAuthenticate): boolean {
  return auth !== undefined || authenticate?.again === true
}

/** Asks about a token again, through what its verifier keeps. */
export class TokenWatch implements StandingToken {
  readonly #watched: Watched
  readonly #token: string
  #freshUntil: number
  #asking: Promise<Standing> | undefined

  constructor(watched: Watched) {
    const { authorization = '' } = watched.request.headers
    this.#watched = watched
    this.#token = authorization.slice(authorization.indexOf(' ') + 1).trim()
    this.#freshUntil = this.#keptUntil(watched.world.now())
  }

  get isFresh(): boolean {
    return this.#watched.world.now() < this.#freshUntil
  }

  ask(): Promise<Standing> {
    this.#asking ??= this.#find().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  beat(end: () => void): void {
    if (this.isFresh) return
    void this.ask().then((standing) => {
      if (standing === 'refused') end()
    })
  }

  async #find(): Promise<Standing> {
    const { principal: before, settings, world, report } = this.#watched
    const askedAt = world.now()
    try {
      const now = await this.#owner()
      const scopes = withImplied(now.scopes ?? [], settings.auth?.impliedScopes ?? {})
      const hasLess = before.scopes?.some((scope) => !scopes.includes(scope)) ?? false
      if (hasLess || !isSamePrincipal(before, now)) return 'refused'
      this.#freshUntil = this.#keptUntil(askedAt)
      return 'good'
    } catch (error) {
      const denial = denialOf(error)
      if (denial === undefined) report(error)
      const isForNow = denial === undefined || denial.status === 429 || denial.status === 503
      return isForNow ? 'unknown' : 'refused'
    }
  }

  /** Whose the token is now. A proof of its key is good once, so that the key of the first one counts. */
  #owner(): Promise<Principal> {
    const { request, peer, principal, settings, world } = this.#watched
    const { auth, authenticate } = settings
    const { cnf } = principal.claims ?? {}
    const isProven = isDPoP(request.headers.authorization) && isObject(cnf)
    const key = isProven && typeof cnf.jkt === 'string' ? cnf.jkt : undefined
    const controller = new AbortController()
    const late = (): never => {
      const error = new TransportError('AUTHENTICATE_TIMEOUT', 'auth: no answer in time', { retryable: true })
      controller.abort(error)
      throw error
    }
    const limits = { clock: world, ms: settings.timeouts.authenticate, late }
    const { signal } = controller
    const byToken = async (checks: AuthSettings): Promise<Principal> => {
      const found = await checkToken(this.#token, checks, { signal, world }, key)
      return key === undefined ? found : boundTo(key, found)
    }
    const byPeer = async (): Promise<Principal> => {
      const use = { signal, world, method: request.method ?? 'GET', path: pathOf(request.url) }
      const found = await authenticate?.(peer, use)
      if (typeof found === 'object' && found !== null) return readPrincipal(found)
      throw refused('authenticate: it knows no such caller any more')
    }
    return waitWithin<Principal>(limits, (resolve, reject) => {
      const asked = auth === undefined ? byPeer() : byToken(auth)
      asked.then(resolve, reject)
      return undefined
    })
  }

  #keptUntil(askedAt: number): number {
    const { keptUntil } = this.#watched.settings.auth?.verify ?? {}
    return keptUntil === undefined ? askedAt + askAgainAfter : keptUntil(this.#token)
  }
}
