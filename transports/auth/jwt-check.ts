import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import type { Principal } from '../contract/principal.js'
import type { JwtSettings } from './jwt.js'
import { IssuerKeys, keysOf } from './keys.js'
import { principalOf, refused, TokenCache, type TokenUse } from './tokens.js'

/** Types of access tokens (RFC 9068, section 2.1; many issuers say JWT or nothing): no hints or proofs. */
const types: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'])
/** Keys that are tried for a token that does not name its key. */
const maxCandidates = 5

/** Checks JWTs of one issuer. */
export class JwtCheck {
  readonly #settings: JwtSettings
  readonly #findKey: JWTVerifyGetKey
  readonly #checked: TokenCache<Principal>

  constructor(settings: JwtSettings) {
    const { jwks, cooldown, keyMaxAge: maxAge } = settings
    const isThere = typeof jwks === 'object'
    const load = isThere ? () => Promise.resolve(jwks) : keysOf(settings)
    const age = isThere ? Number.POSITIVE_INFINITY : maxAge
    const keys = new IssuerKeys({ load, cooldown, maxAge: age, now: () => performance.now() })
    this.#settings = settings
    this.#findKey = keys.find
    this.#checked = new TokenCache(settings)
  }

  /** Rejects with TransportError UNAUTHORIZED, and with AUTHORIZATION_UNAVAILABLE when there are no keys. */
  verify(token: string, { resource }: TokenUse): Promise<Principal> {
    // the answer holds for this resource only
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
    // without the error: it has all the claims of the token
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
