import type { Response } from '../contract/contract.js'
import type { AuthSettings } from './options.js'

/** The JSON-RPC code for a lack of scopes, outside the reserved ones; `data.scopes` names those needed. */
export const insufficientScope = 403

/** Whether this can be a scope: printable ASCII without a space, a quote and a backslash (RFC 6749, 3.3). */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(value)
}

/** Scopes that stand for others as well, such as `{ admin: ['read', 'write'] }`. */
export type ImpliedScopes = Readonly<Record<string, readonly string[]>>

/** The given scopes and all that they stand for, each once. */
export function withImplied(scopes: readonly string[], implied: ImpliedScopes): readonly string[] {
  const all = new Set(scopes)
  for (const scope of all)
    if (Object.hasOwn(implied, scope)) for (const other of implied[scope] ?? []) all.add(other)
  return [...all]
}

/** The scopes that an answer with `insufficientScope` names; undefined for all other answers. */
export function lackingIn(response: Response | undefined): readonly string[] | undefined {
  if (response === undefined || !('error' in response) || response.error.code !== insufficientScope)
    return undefined
  const { scopes } = (response.error.data ?? {}) as { scopes?: unknown }
  return Array.isArray(scopes) ? scopes.filter(isScope) : []
}

/** Why a client is not let in (RFC 6750, section 3; RFC 9728, section 5.1). */
export interface Challenge {
  /** Absent where no token came at all (RFC 6750, section 3.1). */
  readonly error?:
    | 'invalid_request'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'invalid_dpop_proof'
    | 'use_dpop_nonce'
  /** For developers; never anything of a token. */
  readonly description?: string
  /** The scopes that a token needs. */
  readonly scopes?: readonly string[]
}

/**
 * The `WWW-Authenticate` header: of the scheme that the request used, where it used one, and of each that is
 * taken elsewhere.
 */
export function challengeOf(
  { error, description, scopes = [] }: Challenge,
  auth: Pick<AuthSettings, 'metadataUrl' | 'dpop'> | undefined,
  authorization: unknown = undefined,
): string {
  const params = {
    error,
    error_description: description,
    scope: scopes.length === 0 ? undefined : scopes.join(' '),
    resource_metadata: auth?.metadataUrl,
  }
  const dpop = auth?.dpop?.settings
  if (dpop === undefined) return written('Bearer', params)
  const algs = dpop.algorithms.join(' ')
  if (dpop.required || isDPoP(authorization)) return written('DPoP', { ...params, algs })
  const other = { algs, resource_metadata: auth?.metadataUrl }
  return `${written('Bearer', params)}, ${written('DPoP', other)}`
}

/** Whether a header `Authorization` comes with a proof (RFC 9449, section 7.1). */
export function isDPoP(authorization: unknown): boolean {
  return typeof authorization === 'string' && /^dpop(?: |$)/i.test(authorization)
}

function written(scheme: string, params: Readonly<Record<string, string | undefined>>): string {
  const all = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return [scheme, all.join(', ')].join(' ').trim()
}

/** Replaces what may not stand between quotes (RFC 6750, section 3), and limits the length. */
function quotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 2_000)
}
