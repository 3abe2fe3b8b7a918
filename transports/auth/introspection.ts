import { basicCredentials } from '../base/basic-credentials.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Clock } from '../../runtime/time/clock.js'
import { systemWorld } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { anybody, shareOf, siteOf } from '../base/network.js'
import { Places } from '../base/places.js'
import {
  badOption,
  orElse,
  type Read,
  readCount,
  readDelay,
  readMs,
  readOptions,
  readText,
} from '../base/read-option.js'
import { readSecureUrl } from '../base/secure-url.js'
import type { Principal } from '../contract/principal.js'
import { loadUndici } from '../http/outgoing/dispatcher.js'
import { fetchJson } from '../http/outgoing/fetch.js'
import { readAudience } from './jwt.js'
import { boundTo, principalOf, TokenCache, type TokenUse, type TokenVerifier } from './tokens.js'

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
  /** Milliseconds an answer is kept, and a revoked token may pass; 0: always asked. Default 10,000. */
  readonly cacheTime?: number
  /** Answers that are kept. Default 1,000. */
  readonly maxCached?: number
  /**
   * Questions at once, of one network three quarters; requests beyond that are answered 503. Default 100.
   */
  readonly maxAtOnce?: number
  /** Milliseconds that an answer may take. Default 4,000. */
  readonly fetchTimeout?: number
}

/**
 * Checks access tokens of any form by asking the authorization server (RFC 7662): active, issuer, audience,
 * times, subject. While it does not answer, or refuses the question, requests are answered 503. Throws
 * TransportError BAD_OPTION.
 */
export function introspection(options: IntrospectionOptions): TokenVerifier {
  const settings = readOptions(options, readers, 'introspection')
  const { issuer, endpoint, client: authorization, fetchTimeout, maxAtOnce } = settings
  const answers = new TokenCache<JsonObject>(settings, ({ active }) => active === true)
  const places = new Places(maxAtOnce)

  async function verify(
    token: string,
    { resource, key, network, world = systemWorld }: TokenUse,
  ): Promise<Principal | undefined> {
    const { audience = [resource] } = settings
    const answer = await answers.find(token, world, () => ask(token, world, network))
    if (answer.active !== true) return undefined
    // `active` vouches for an issuer and times that are missing; those that are there are checked
    const claims = { iss: issuer, exp: Number.POSITIVE_INFINITY, ...answer }
    const expected = { issuer, audience, clockTolerance: 0, now: world.date() }
    const { expiresAt, ...found } = principalOf(claims, expected)
    return boundTo(key, { ...found, ...(Number.isFinite(expiresAt) && { expiresAt }), claims: answer })
  }

  async function ask(token: string, clock: Clock, network: string | undefined): Promise<JsonObject> {
    const caller = network === undefined ? anybody : `from ${siteOf(network)}`
    if (places.isFull || places.hasItsShare(caller)) {
      const those = places.isFull
        ? `${maxAtOnce} questions`
        : `${shareOf(maxAtOnce)} questions for one network`
      const message = `the authorization server is asked ${those} already`
      throw new TransportError('AUTHORIZATION_UNAVAILABLE', message, { retryable: true })
    }
    places.take(caller)
    try {
      return await fetchJson(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
        timeout: fetchTimeout,
        clock,
      })
    } finally {
      places.giveBack(caller)
    }
  }

  return Object.assign(verify, {
    prepare: loadUndici,
    keptUntil: (token: string) => answers.keptUntil(token),
  })
}

/** Credentials as the header that is sent (RFC 6749, section 2.3.1); the secret is never shown. */
const readClient: Read<string> = (value, field) => {
  if (!isObject(value)) throw badOption(field, 'an object with id and secret', typeof value)
  const id = readText(value.id, `${field}.id`)
  if (typeof value.secret !== 'string') throw badOption(`${field}.secret`, 'a string', typeof value.secret)
  return basicCredentials(id, value.secret)
}

const readers = {
  issuer: readSecureUrl,
  endpoint: readSecureUrl,
  client: readClient,
  audience: orElse(readAudience, undefined),
  cacheTime: orElse(readDelay, 10_000),
  maxCached: orElse(readCount, 1_000),
  maxAtOnce: orElse(readCount, 100),
  fetchTimeout: orElse(readMs, 4_000),
}
