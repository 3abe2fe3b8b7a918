import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { systemWorld, type World } from '../../runtime/time/world.js'
import type { Principal } from '../contract/principal.js'
import type { JwtSettings } from './jwt.js'
import { IssuerKeys, keysOf } from './keys.js'
import { boundTo, principalOf, refused, TokenCache, type TokenUse } from './tokens.js'

/** Finds out whose a JWT is. */
export type JwtCheck = (token: string, use: TokenUse) => Promise<Principal>

/** Types of access tokens (RFC 9068, section 2.1; many issuers say JWT or nothing): no hints or proofs. */
const types: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'])
/** Keys that are tried for a token that does not name its key. */
const maxCandidates = 5

/** Checks JWTs of one issuer. Rejects with UNAUTHORIZED, and AUTHORIZATION_UNAVAILABLE without keys. */
export function createJwtCheck(settings: JwtSettings): JwtCheck {
  const { jwks, cooldown, keyMaxAge, fetchTimeout, issuer, clockTolerance, algorithms } = settings
  const isGiven = typeof jwks === 'object'
  const keys = new IssuerKeys({
    load: isGiven ? async () => jwks : keysOf(settings),
    cooldown,
    maxAge: isGiven ? Number.POSITIVE_INFINITY : keyMaxAge,
    fetchTimeout,
  })
  const checked = new TokenCache<Principal>(settings, () => true)

  async function check(token: string, resource: string, world: World): Promise<Principal> {
    const { audience = [resource] } = settings
    const claims = await read(token, world)
    return principalOf(claims, { issuer, audience, clockTolerance, now: world.date() })
  }

  async function read(token: string, world: World): Promise<JWTPayload> {
    const how = {
      algorithms: [...algorithms],
      clockTolerance: Math.ceil(clockTolerance / 1_000),
      currentDate: new Date(world.date()),
    }
    try {
      const { payload, protectedHeader } = await verify(token, keys.findBy(world), how)
      if (types.has((protectedHeader.typ ?? 'jwt').toLowerCase())) return payload
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw refused('the token has expired')
      if (!(error instanceof errors.JOSEError)) throw error
    }
    // without the error: it has all the claims of the token
    throw refused('the token is not valid')
  }

  // the answer holds for this resource only
  return async (token, { resource, key, world = systemWorld }) =>
    boundTo(key, await checked.find(`${resource} ${token}`, world, () => check(token, resource, world)))
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
