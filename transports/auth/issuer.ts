import type { JsonObject } from '../../protocol/wire/json.js'
import { fetchJson } from './fetch.js'
import type { JwtSettings } from './jwt.js'
import { isSecureUrl } from '../base/secure-url.js'
import { TransportError } from '../base/errors.js'

/** How the keys of an issuer are fetched: from an address, or from where its metadata says. */
export function issuerKeys({
  issuer,
  jwks,
  fetchTimeout,
}: Pick<JwtSettings, 'issuer' | 'jwks' | 'fetchTimeout'>): () => Promise<JsonObject> {
  const given = typeof jwks === 'string' ? jwks : undefined
  let known = given
  return async () => {
    known ??= await findKeys(issuer, fetchTimeout)
    try {
      return await fetchJson(known, { timeout: fetchTimeout })
    } catch (error) {
      // they may have moved
      known = given
      throw error
    }
  }
}

/**
 * The places of RFC 8414, section 3.1, and OpenID Connect Discovery, the latter before and after the path of
 * the issuer.
 */
async function findKeys(issuer: string, timeout: number): Promise<string> {
  let last: unknown
  for (const address of metadataAddresses(issuer)) {
    try {
      return readKeysAddress(await fetchJson(address, { timeout }), issuer, address)
    } catch (error) {
      last = error
    }
  }
  throw last
}

function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ]
}

/** A document that says it is another issuer's may be anybody's (RFC 8414, section 3.3). */
function readKeysAddress(document: JsonObject, issuer: string, address: string): string {
  const { issuer: said, jwks_uri: keys } = document
  if (said !== issuer) throw unusable(`${address}: expected the metadata of ${issuer}`)
  if (typeof keys !== 'string' || !isSecureUrl(keys))
    throw unusable(`${address}: jwks_uri: expected an https address`)
  return keys
}

function unusable(message: string): TransportError {
  return new TransportError('AUTHORIZATION_UNAVAILABLE', message, { retryable: true })
}
