import type { Response } from '../contract/contract.js'

/**
 * The JSON-RPC code of a request whose sender lacks a scope; beyond what JSON-RPC and MCP reserve.
 * `data.scopes` are those that it takes.
 */
export const insufficientScope = 403

/**
 * Whether this can be the name of a scope: printable ASCII without a space, a quote and a backslash (RFC
 * 6749, 3.3).
 */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(value)
}

/** Which scopes stand for others as well, such as `{ admin: ['read', 'write'] }`. */
export type ImpliedScopes = Readonly<Record<string, readonly string[]>>

/** The given scopes and all that they stand for, each once. */
export function withImplied(scopes: readonly string[], implied: ImpliedScopes): readonly string[] {
  const all = new Set(scopes)
  for (const scope of all)
    if (Object.hasOwn(implied, scope)) for (const other of implied[scope] ?? []) all.add(other)
  return [...all]
}

/** The scopes of which one is missing, when an answer says so; undefined for all other answers. */
export function lackingIn(response: Response | undefined): readonly string[] | undefined {
  if (response === undefined || !('error' in response) || response.error.code !== insufficientScope)
    return undefined
  const { scopes } = (response.error.data ?? {}) as { scopes?: unknown }
  return Array.isArray(scopes) ? scopes.filter(isScope) : []
}
