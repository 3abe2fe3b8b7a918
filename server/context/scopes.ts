import { McpError } from '../../protocol/wire/errors.js'
import { insufficientScope } from '../../transports/auth/scopes.js'
import type { Peer } from '../../transports/contract/contract.js'

/** A component that may require scopes. */
export interface Guarded {
  readonly scopes?: readonly string[] | undefined
}

/** Whether a peer may see and use a component. Anonymous peers have no scopes; trusted ones need none. */
export function isAllowed({ principal, trusted }: Peer, { scopes }: Guarded): boolean {
  if (scopes === undefined || scopes.length === 0) return true
  if (principal === undefined) return trusted === true
  return scopes.every((scope) => principal.scopes?.includes(scope) === true)
}

/**
 * Throws McpError 403 with the required scopes in `data.scopes`: a listener makes its challenge from them.
 */
export function checkAllowed(peer: Peer, component: Guarded): void {
  if (isAllowed(peer, component)) return
  const data = { scopes: component.scopes }
  throw new McpError(insufficientScope, 'Insufficient scope', { data })
}
