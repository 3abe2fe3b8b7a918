import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { TransportError } from '../base/errors.js'
import {
  badOption,
  orElse,
  type Read,
  readCount,
  readDelay,
  readFields,
  readMs,
  readText,
} from '../base/read-option.js'
import { readSecureUrl } from '../base/secure-url.js'
import type { Principal } from '../contract/principal.js'
import { loadUndici } from '../http/outgoing/dispatcher.js'
import { fetchJson } from '../http/outgoing/fetch.js'
import { readAudience } from './jwt.js'
import { principalOf, TokenCache, type TokenUse, type TokenVerifier } from './tokens.js'

/** How tokens are checked by asking their issuer. */
export interface IntrospectionOptions {
  /** Who issues them; an answer that names another one is refused. */
  readonly issuer: string
  /** Where to ask (RFC 7662). */
  readonly endpoint: string
  /** Who asks: sent with HTTP Basic authentication. */
  readonly client: { readonly id: string; readonly secret: string }
  /** What the `aud` of the answer has to name. Default: the `resource` of the listener. */
  readonly audience?: string | readonly string[]
  /**
   * Milliseconds that an answer is kept: so long a revoked token may still be taken. 0: the issuer is asked
   * each time. Default 10,000.
   */
  readonly cacheTime?: number
  /** Answers that are kept. Default 1,000. */
  readonly maxCached?: number
  /** Questions at once; requests beyond that are answered 503. Default 100. */
  readonly maxAtOnce?: number
  /** Milliseconds that an answer may take. Default 4,000. */
  readonly fetchTimeout?: number
}

type Settings = ReturnType<typeof readIntrospection>

const fields = [
  'issuer',
  'endpoint',
  'client',
  'audience',
  'cacheTime',
  'maxCached',
  'maxAtOnce',
  'fetchTimeout',
] as const

/**
 * Checks access tokens of any form by asking the authorization server (RFC 7662): active, issuer, audience,
 * times, subject. While it does not answer, or refuses the question, requests are answered 503. Throws
 * TransportError BAD_OPTION.
 */
export function introspection(options: IntrospectionOptions): TokenVerifier {
  const introspector = new Introspector(readIntrospection(options))
  return Object.assign((token: string, use: TokenUse) => introspector.verify(token, use), {
    prepare: loadUndici,
  })
}

class Introspector {
  readonly #settings: Settings
  readonly #answers: TokenCache<JsonObject>
  #asking = 0

  constructor(settings: Settings) {
    this.#settings = settings
    this.#answers = new TokenCache(settings)
  }

  async verify(token: string, { resource }: TokenUse): Promise<Principal | undefined> {
    const { issuer, audience = [resource] } = this.#settings
    const answer = await this.#answers.find(token, () => this.#ask(token))
    if (answer.active !== true) return undefined
    // `active` vouches for issuer and times that are missing; those that are there are checked
    const claims = { iss: issuer, exp: Number.POSITIVE_INFINITY, ...answer }
    const { expiresAt, ...found } = principalOf(claims, {
      issuer,
      audience,
      clockTolerance: 0,
      now: Date.now(),
    })
    return { ...found, ...(Number.isFinite(expiresAt) && { expiresAt }), claims: answer }
  }

  async #ask(token: string): Promise<JsonObject> {
    const { endpoint, authorization, fetchTimeout, maxAtOnce } = this.#settings
    if (this.#asking >= maxAtOnce) throw tooMany(maxAtOnce)
    this.#asking += 1
    try {
      return await fetchJson(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
        timeout: fetchTimeout,
      })
    } finally {
      this.#asking -= 1
    }
  }
}

function readIntrospection(options: IntrospectionOptions) {
  const given = readFields(options, 'introspection', fields)
  return Object.freeze({
    issuer: readSecureUrl(given.issuer, 'introspection.issuer'),
    endpoint: readSecureUrl(given.endpoint, 'introspection.endpoint'),
    authorization: readClient(given.client, 'introspection.client'),
    audience: orElse(readAudience, undefined)(given.audience, 'introspection.audience'),
    cacheTime: readDelay(given.cacheTime, 'introspection.cacheTime', 10_000),
    maxCached: readCount(given.maxCached, 'introspection.maxCached', 1_000),
    maxAtOnce: readCount(given.maxAtOnce, 'introspection.maxAtOnce', 100),
    fetchTimeout: readMs(given.fetchTimeout, 'introspection.fetchTimeout', 4_000),
  })
}

/** Credentials as the header that is sent (RFC 6749, section 2.3.1); the secret is never shown. */
const readClient: Read<string> = (value, field) => {
  if (!isObject(value)) throw badOption(field, 'an object with id and secret', typeof value)
  const id = readText(value.id, `${field}.id`)
  if (typeof value.secret !== 'string') throw badOption(`${field}.secret`, 'a string', typeof value.secret)
  const pair = [id, value.secret].map((part) => new URLSearchParams([['', part]]).toString().slice(1))
  return `Basic ${Buffer.from(pair.join(':')).toString('base64')}`
}

function tooMany(max: number): TransportError {
  const message = `the authorization server is asked ${max} questions already`
  return new TransportError('AUTHORIZATION_UNAVAILABLE', message, { retryable: true })
}
