import { McpError } from '../../protocol/wire/errors.js'
import { insufficientScope } from '../../transports/auth/scopes.js'
import type { Peer } from '../../transports/contract/contract.js'

/** A component that may require scopes. */
export interface Guarded {
  readonly scopes?: readonly string[] | undefined
  /** Whether this caller may, besides: of what a server behind a gateway has. */
  readonly permits?: ((peer: Peer) => boolean) | undefined
}

/** Whether a peer may see and use a component. Anonymous peers have no scopes; trusted ones need none. */
export function isAllowed(peer: Peer, { scopes, permits }: Guarded): boolean {
  return hasScopes(peer, scopes) && (permits === undefined || permits(peer) === true)
}

function hasScopes({ principal, trusted }: Peer, scopes: readonly string[] = []): boolean {
  if (scopes.length === 0) return true
  if (principal === undefined) return trusted === true
  return scopes.every((scope) => principal.scopes?.includes(scope) === true)
}

/**
 * Throws McpError 403 with the required scopes in `data.scopes`: a listener makes its challenge from them. Throws
 * `absent()` for a caller who has them, and is refused all the same: answered as something that does not exist.
 */
export function checkAllowed(peer: Peer, component: Guarded, absent = nothing): void {
  if (isAllowed(peer, component)) return
  // no scope would help
  if (hasScopes(peer, component.scopes)) throw absent()
  const data = { scopes: component.scopes }
  throw new McpError(insufficientScope, 'Insufficient scope', { data })
}

function nothing(): McpError {
  return McpError.invalidParams('Not found')
}
