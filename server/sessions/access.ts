import { isSupported, revisionWithoutHeader } from '../../protocol/dialects/versions.js'
import type { Peer } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import { ownerOf } from '../base/owner.js'
import type { SessionRecord } from '../engine/session-store.js'

/** Why a session refuses this peer. The owner comes first: nobody else learns anything of the session. */
export function peerProblem(
  { principal, revision }: Pick<SessionRecord, 'principal' | 'revision'>,
  peer: Peer | undefined,
): TransportError | undefined {
  return principal === ownerOf(peer) ? revisionProblem(peer, revision) : noSession()
}

/** The error for a session that is not there, or not the caller's: the two must look alike. */
export function noSession(): TransportError {
  return new TransportError('SESSION_NOT_FOUND', 'there is no such session')
}

/** `2025-03-26` counts as no header: a request without one is taken for that (specification: transports). */
function revisionProblem(peer: Peer | undefined, revision: string): TransportError | undefined {
  if (peer?.transport !== 'http') return undefined
  const given = peer.headers['mcp-protocol-version']
  if (given === undefined || given === revision || given === revisionWithoutHeader) return undefined
  const got = typeof given === 'string' && isSupported(given) ? given : 'an unknown revision'
  const problem = `MCP-Protocol-Version: expected ${revision}, which this session has negotiated, got ${got}`
  return new TransportError('REVISION_MISMATCH', problem)
}
