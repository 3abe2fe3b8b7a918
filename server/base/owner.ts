import { createHash } from 'node:crypto'
import type { Peer } from '../../transports/contract/contract.js'
import { keyOfPrincipal } from '../../transports/contract/principal.js'

/**
 * Whom a session of this peer belongs to: a digest of issuer and subject, which is all that is kept of them;
 * undefined for an anonymous peer.
 */
export function ownerOf(peer: Peer | undefined): string | undefined {
  const principal = peer?.principal
  if (principal === undefined) return undefined
  return createHash('sha256').update(keyOfPrincipal(principal)).digest('base64url')
}
