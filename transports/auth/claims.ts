import { TransportError } from '../base/errors.js'
import { isScope } from './scopes.js'
import type { Principal } from '../contract/principal.js'

/** What a token has to say. */
export interface ExpectedClaims {
  readonly issuer: string
  /** One of them has to be among its audiences. */
  readonly audience: readonly string[]
  /** Milliseconds that clocks may differ by. */
  readonly clockTolerance: number
  /** Milliseconds since 1970. */
  readonly now: number
}

type Claims = Readonly<Record<string, unknown>>

/**
 * Whose a token is by its claims, which are known to be genuine (RFC 9068, section 4; RFC 7662, section 2.2).
 * Throws TransportError UNAUTHORIZED that says which claim is wrong, and nothing of its value.
 */
export function principalOf(claims: Claims, expected: ExpectedClaims): Principal {
  const { iss, aud, sub, cnf, client_id: clientId, azp } = claims
  if (iss !== expected.issuer) throw refused('the token is of another issuer')
  if (!list(aud).some((audience) => expected.audience.includes(audience)))
    throw refused('the token is for another resource')
  if (typeof sub !== 'string' || sub === '') throw refused('the token does not say whose it is')
  // whoever has it is not enough for such a token (RFC 7800), and what it is bound to cannot be checked here
  if (cnf !== undefined) throw refused('the token is bound to a key, and none was proven')
  const expiresAt = readTimes(claims, expected)
  const client = [clientId, azp].find((id) => typeof id === 'string' && id !== '')
  return {
    issuer: expected.issuer,
    subject: sub,
    ...(client !== undefined && { clientId: String(client) }),
    scopes: scopesOf(claims),
    expiresAt,
    claims: Object.freeze({ ...claims }),
  }
}

function readTimes({ exp, nbf }: Claims, { clockTolerance, now }: ExpectedClaims): number {
  if (typeof exp !== 'number') throw refused('the token does not say when it expires')
  const expiresAt = exp * 1_000 + clockTolerance
  if (!(expiresAt > now)) throw refused('the token has expired')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf * 1_000 - clockTolerance <= now))
    throw refused('the token is not valid yet')
  return expiresAt
}

/** `scope` as RFC 9068 has it, or `scp`, as some authorization servers do. */
function scopesOf({ scope, scp }: Claims): readonly string[] {
  const given = scope ?? scp
  const scopes = typeof given === 'string' ? given.split(' ') : list(given)
  return [...new Set(scopes.filter(isScope))]
}

function list(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function refused(message: string): TransportError {
  return new TransportError('UNAUTHORIZED', message)
}
