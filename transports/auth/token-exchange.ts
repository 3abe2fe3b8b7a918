import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { backoff } from '../../runtime/time/backoff.js'
import type { World } from '../../runtime/time/world.js'
import { basicCredentials } from '../base/basic-credentials.js'
import { TransportError } from '../base/errors.js'
import { isSecureUrl } from '../base/secure-url.js'
import { urlAt } from '../base/target.js'
import { keyOfPrincipal, loginOf, type Principal, rightsOf } from '../contract/principal.js'
import type { Values } from '../contract/values.js'
import { type SafeAnswer, safeFetch } from '../http/outgoing/fetch.js'
import { keepAmong } from './keep-among.js'

/** How the token of a caller is traded for one that is for a server behind this one (RFC 8693). */
export interface TokenExchangeOptions {
  /** The authorization server, whose metadata says where its token endpoint is (RFC 8414). */
  readonly issuer?: string
  /** Its token endpoint, instead. */
  readonly tokenUrl?: string
  /** Who trades: sent with HTTP Basic authentication. It asks as itself for what nobody calls for. */
  readonly client: { readonly id: string; readonly secret: string }
  /** Whom the token is for, as the authorization server calls it. */
  readonly audience?: string
  /** Its address (RFC 8707). */
  readonly resource?: string
  /** What the token is to be good for. Default: what the authorization server gives. */
  readonly scopes?: readonly string[]
}

/** Who asks for a token, and for which server. */
interface ExchangeRequest {
  readonly server: string
  /** Undefined: nobody calls. */
  readonly principal: Principal | undefined
  /** One that the server has refused. */
  readonly refused: string | undefined
  /** The token of the principal at the provider, where they have signed in here. */
  readonly subject: ((principal: Principal) => Promise<string>) | undefined
}

interface TradedToken {
  readonly token: string
  /** When it is traded anew, in ms since 1970. */
  readonly until: number
}

/** Milliseconds for an answer, and before its end in which a token is traded anew. */
const answerTime = 10_000
const early = 10_000
/** Milliseconds that a token is kept whose end nobody says, and the token of a caller at most. */
const unsaid = 60_000
const longest = 3_600_000
/** Milliseconds in which a provider that was away is not asked again. */
const pauses = { first: 500, longest: 30_000 }
/** The longest that a traded one is kept. */
const longestTraded = 24 * 3_600_000
/** Tokens of callers that are known to be kept. */
const maxHeard = 10_000
/**
 * Tokens of one user that are kept, one for each program and what it may do, and what they were traded for at one
 * server: the oldest makes room, and is traded anew.
 */
const maxCame = 128
const maxTraded = 32
const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/** Tokens of callers, and what they were traded for, sealed and for all nodes. */
export class TokenExchange {
  readonly #values: Values
  readonly #world: World
  /** Digests of tokens that are kept, by whose they are. */
  readonly #heard = new Map<string, { readonly digest: string; readonly again: number }>()
  /** Trades that came to nothing as the provider was away, and until when it is left alone. */
  readonly #failed = new Map<
    string,
    { readonly error: unknown; readonly failures: number; readonly until: number }
  >()
  /** Trades that are under way. */
  readonly #trading = new Map<string, Promise<string>>()

  constructor(values: Values, world: World) {
    this.#values = values
    this.#world = world
  }

  /** A caller came with a token: another node may need it for the same session. Never throws. */
  heard(principal: Principal, token: string): void {
    const whose = whoseOf(principal)
    const seen = digestOf(token)
    const now = this.#world.date()
    const known = this.#heard.get(whose)
    if (known?.digest === seen && now < known.again) return
    const ttl = Math.max(1, Math.min(longest, (principal.expiresAt ?? now + longest) - now))
    this.#heard.delete(whose)
    // it is kept anew long before it would be forgotten
    this.#heard.set(whose, { digest: seen, again: now + ttl / 2 })
    const [oldest] = this.#heard.keys()
    if (this.#heard.size > maxHeard && oldest !== undefined) this.#heard.delete(oldest)
    // whoever needs it is told that it is not there
    this.#coming.set(whose, token)
    const kept = {
      list: `upstream came of ${userOf(principal)}`,
      key: cameKey(whose),
      text: () => this.#coming.get(whose) ?? token,
      ...{ ttl, longest, most: maxCame },
    }
    void keepAmong(this.#values, this.#world, kept)
      .catch(() => this.#heard.delete(whose))
      .finally(() => this.#coming.get(whose) === token && this.#coming.delete(whose))
  }

  /** Tokens that are being kept. */
  readonly #coming = new Map<string, string>()

  /** Rejects with UNAUTHORIZED, and with AUTHORIZATION_UNAVAILABLE while the provider cannot be asked. */
  async tokenFor(options: TokenExchangeOptions, request: ExchangeRequest): Promise<string> {
    const { server, principal, refused } = request
    // a token for other options may be for another server
    const what = digestOf(JSON.stringify(factsOf(options)))
    const whose = principal && whoseOf(principal)
    const key = `upstream traded ${digestOf(JSON.stringify([server, what, whose]))}`
    const kept = await this.#keptAt(key)
    if (kept !== undefined && kept.token !== refused && kept.until > this.#world.date()) return kept.token
    const failed = this.#failed.get(key)
    if (failed !== undefined && this.#world.now() < failed.until) throw failed.error
    const trading = this.#trading.get(key) ?? this.#trade(key, options, request)
    this.#trading.set(key, trading)
    try {
      const token = await trading
      this.#failed.delete(key)
      return token
    } catch (error) {
      this.#fail(key, error)
      throw error
    } finally {
      if (this.#trading.get(key) === trading) this.#trading.delete(key)
    }
  }

  /** A provider that is away is asked after pauses that grow, however many calls wait. */
  #fail(key: string, error: unknown): void {
    const { failures = 0, until = 0 } = this.#failed.get(key) ?? {}
    const now = this.#world.now()
    if (!(error instanceof TransportError && error.retryable) || now < until) return
    this.#failed.delete(key)
    this.#failed.set(key, { error, failures: failures + 1, until: now + backoff(pauses, failures) })
    const [oldest] = this.#failed.keys()
    if (this.#failed.size > maxHeard && oldest !== undefined) this.#failed.delete(oldest)
  }

  async #trade(key: string, options: TokenExchangeOptions, request: ExchangeRequest): Promise<string> {
    const { audience, resource, scopes, client } = options
    const form = new URLSearchParams({
      ...(await this.#grantFor(request)),
      ...(audience !== undefined && { audience }),
      ...(resource !== undefined && { resource }),
      ...(scopes !== undefined && scopes.length > 0 && { scope: scopes.join(' ') }),
    })
    const answer = await this.#send(await this.#endpointOf(options), {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basicCredentials(client.id, client.secret),
      },
      body: form.toString(),
    })
    const { access_token: token, expires_in: seconds, error } = objectIn(answer.text)
    if (answer.status !== 200 || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
      throw refusal(answer.status, error)
    const said = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : unsaid
    const lifetime = Math.min(said, longestTraded)
    const until = this.#world.date() + lifetime - Math.min(early, lifetime / 2)
    const kept: TradedToken = { token, until }
    // what cannot be kept is good here, too
    const of = JSON.stringify([request.server, request.principal && userOf(request.principal)])
    await keepAmong(this.#values, this.#world, {
      list: `upstream traded of ${of}`,
      key,
      text: () => JSON.stringify(kept),
      ...{ ttl: lifetime, longest: longestTraded, most: maxTraded },
    }).catch(() => {})
    return token
  }

  async #grantFor({ principal, subject }: ExchangeRequest): Promise<Record<string, string>> {
    if (principal === undefined) return { grant_type: 'client_credentials' }
    const whose = whoseOf(principal)
    const came =
      subject === undefined
        ? (this.#coming.get(whose) ?? (await this.#values.get(cameKey(whose)))?.text)
        : await subject(principal)
    if (came === undefined || came === '')
      throw new TransportError('UNAUTHORIZED', 'the caller came without a token that could be exchanged')
    return { grant_type: grantType, subject_token: came, subject_token_type: accessToken }
  }

  async #endpointOf({ tokenUrl, issuer = '' }: TokenExchangeOptions): Promise<string> {
    if (tokenUrl !== undefined) return tokenUrl
    for (const place of placesOf(issuer)) {
      const answer = await this.#send(place, {})
      if (answer.status !== 200) continue
      const { issuer: own, token_endpoint: endpoint } = objectIn(answer.text)
      if (own === issuer && typeof endpoint === 'string' && isSecureUrl(endpoint)) return endpoint
    }
    throw new TransportError(
      'AUTHORIZATION_UNAVAILABLE',
      `${issuer} does not say where its token endpoint is`,
      {
        retryable: true,
      },
    )
  }

  /**
   * To an address that the operator has chosen: it may be in their own network. A redirect would take secrets
   * along.
   */
  #send(url: string, request: Pick<Parameters<typeof safeFetch>[1], 'method' | 'headers' | 'body'>) {
    const { signal } = new AbortController()
    const how = { timeout: answerTime, clock: this.#world, privateNetwork: true, maxRedirects: 0, signal }
    return safeFetch(url, { ...request, ...how }) as Promise<SafeAnswer>
  }

  async #keptAt(key: string): Promise<TradedToken | undefined> {
    const text = (await this.#values.get(key))?.text
    return text === undefined || text === '' ? undefined : (JSON.parse(text) as TradedToken)
  }
}

/** What tells apart what tokens are for, and from whom. */
function factsOf({ tokenUrl, issuer, client, audience, resource, scopes = [] }: TokenExchangeOptions) {
  return [tokenUrl, issuer, client.id, audience, resource, scopes.toSorted()]
}

/** RFC 8414, section 3.1, and OpenID Connect Discovery. */
function placesOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname
  return [
    urlAt(origin, `/.well-known/oauth-authorization-server${path}`).href,
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  ]
}

function objectIn(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function refusal(status: number, error: unknown): TransportError {
  const why = typeof error === 'string' ? `: ${error.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)}` : ''
  const isBusy = status >= 500 || status === 429
  const problem = `the token of the caller was not exchanged (status ${status})${why}`
  return new TransportError(isBusy ? 'AUTHORIZATION_UNAVAILABLE' : 'UNAUTHORIZED', problem, {
    retryable: isBusy,
  })
}

/** A token of the same person may be for less, or for another program. */
function whoseOf(principal: Principal): string {
  return JSON.stringify([keyOfPrincipal(principal), loginOf(principal) ?? '', rightsOf(principal)])
}

function userOf({ issuer, subject }: Principal): string {
  return keyOfPrincipal({ issuer, subject })
}

function cameKey(whose: string): string {
  return `upstream came ${digestOf(whose)}`
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
