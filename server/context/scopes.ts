import { McpError } from '../../protocol/wire/errors.js'
import { insufficientScope } from '../../transports/auth/scopes.js'
import type { Peer } from '../../transports/contract/contract.js'

/** A component that takes scopes: all of them, or none where there is nothing. */
export interface Guarded {
  readonly scopes?: readonly string[] | undefined
}

/**
 * Whether a peer may know of a component, and use it. Nobody in particular has no scopes; who started this
 * program is not asked for any.
 */
export function isAllowed({ principal, trusted }: Peer, { scopes }: Guarded): boolean {
  if (scopes === undefined || scopes.length === 0) return true
  if (principal === undefined) return trusted === true
  return scopes.every((scope) => principal.scopes?.includes(scope) === true)
}

/**
 * Throws McpError 403, from which a listener makes a challenge: the scopes that it takes are in
 * `data.scopes`.
 */
export function checkAllowed(peer: Peer, component: Guarded): void {
  if (isAllowed(peer, component)) return
  const data = { scopes: component.scopes }
  throw new McpError(insufficientScope, 'Insufficient scope', { data })
}
