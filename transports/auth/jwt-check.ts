import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { TokenCache } from './cache.js'
import { principalOf } from './claims.js'
import { issuerKeys } from './issuer.js'
import { IssuerKeys } from './keys.js'
import type { JwtSettings } from './jwt.js'
import type { TokenUse } from './verifier.js'
import { TransportError } from '../base/errors.js'
import type { Principal } from '../contract/principal.js'

/**
 * What the type of an access token may be called (RFC 9068, section 2.1; many issuers say JWT or nothing);
 * never an ID token hint, proof or assertion.
 */
const types: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'])
/** Keys that are tried where a token does not say which one it was signed with. */
const maxCandidates = 5

/** Checks JWTs of one issuer. */
export class JwtCheck {
  readonly #settings: JwtSettings
  readonly #findKey: JWTVerifyGetKey
  readonly #checked: TokenCache<Principal>

  constructor(settings: JwtSettings) {
    const { jwks, cooldown, keyMaxAge: maxAge } = settings
    const isThere = typeof jwks === 'object'
    const load = isThere ? () => Promise.resolve(jwks) : issuerKeys(settings)
    const age = isThere ? Number.POSITIVE_INFINITY : maxAge
    const keys = new IssuerKeys({ load, cooldown, maxAge: age, now: () => performance.now() })
    this.#settings = settings
    this.#findKey = keys.find
    this.#checked = new TokenCache(settings)
  }

  /** Rejects with TransportError UNAUTHORIZED, and with AUTHORIZATION_UNAVAILABLE when there are no keys. */
  verify(token: string, { resource }: TokenUse): Promise<Principal> {
    // what it is good for belongs to the answer
    return this.#checked.find(`${resource} ${token}`, () => this.#check(token, resource))
  }

  async #check(token: string, resource: string): Promise<Principal> {
    const { issuer, audience = [resource], clockTolerance } = this.#settings
    const claims = await this.#read(token)
    return principalOf(claims, { issuer, audience, clockTolerance, now: Date.now() })
  }

  async #read(token: string): Promise<JWTPayload> {
    const { algorithms, clockTolerance } = this.#settings
    const how = { algorithms: [...algorithms], clockTolerance: Math.ceil(clockTolerance / 1_000) }
    try {
      const { payload, protectedHeader } = await verify(token, this.#findKey, how)
      if (types.has((protectedHeader.typ ?? 'jwt').toLowerCase())) return payload
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw refused('the token has expired')
      if (!(error instanceof errors.JOSEError)) throw error
    }
    // nothing of the token, and not the error, which has all of its claims
    throw refused('the token is not valid')
  }
}

async function verify(token: string, findKey: JWTVerifyGetKey, how: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, findKey, how)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tried = 0
    for await (const key of error) {
      tried += 1
      if (tried > maxCandidates) break
      try {
        return await jwtVerify(token, key, how)
      } catch (other) {
        if (!(other instanceof errors.JWSSignatureVerificationFailed)) throw other
      }
    }
    throw error
  }
}

function refused(message: string): TransportError {
  return new TransportError('UNAUTHORIZED', message)
}
