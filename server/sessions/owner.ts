import { createHash } from 'node:crypto'
import type { Peer } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import { keyOfPrincipal } from '../../transports/contract/principal.js'
import { revisionProblem } from './revision.js'
import type { SessionRecord } from '../stores/session-store.js'

/**
 * Whom a session that this peer opens belongs to: a digest of issuer and subject, which is all that is kept
 * of them; undefined for a peer that is nobody in particular.
 */
export function ownerOf(peer: Peer | undefined): string | undefined {
  const principal = peer?.principal
  if (principal === undefined) return undefined
  return createHash('sha256').update(keyOfPrincipal(principal)).digest('base64url')
}

/** What a session is called in reports: its id is for its client alone, since whoever has it may use it. */
export function labelOf(id: string): string {
  return `session ${createHash('sha256').update(id).digest('hex').slice(0, 8)}`
}

/**
 * What messages for a session that is being brought back have in common: nobody else waits for them, or has
 * them wait.
 */
export function ownedKey(id: string, peer: Peer | undefined): string {
  return `${ownerOf(peer) ?? ''} ${id}`
}

/** What anybody is told of a session that is not there, or not theirs: the two look alike. */
export function noSession(): TransportError {
  return new TransportError('SESSION_NOT_FOUND', 'there is no such session')
}

/**
 * Why a session does not take this peer; undefined when it does. Whether the session is theirs comes first:
 * nobody else learns anything of it.
 */
export function peerProblem(
  { principal, revision }: Pick<SessionRecord, 'principal' | 'revision'>,
  peer: Peer | undefined,
): TransportError | undefined {
  return principal === ownerOf(peer) ? revisionProblem(peer, revision) : noSession()
}
