import { createHash } from 'node:crypto'
import type { Peer } from '../../transports/contract/contract.js'
import { keyOfPrincipal } from '../../transports/contract/principal.js'

/** A digest of the peer's issuer and subject, all that is kept of them; undefined for an anonymous peer. */
export function ownerOf(peer: Peer | undefined): string | undefined {
  const principal = peer?.principal
  if (principal === undefined) return undefined
  return createHash('sha256').update(keyOfPrincipal(principal)).digest('base64url')
}
