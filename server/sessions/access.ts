import { createHash } from 'node:crypto'
import { isSupported, revisionWithoutHeader } from '../../protocol/dialects/versions.js'
import type { Peer } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import { ownerOf } from '../base/owner.js'
import type { SessionRecord } from '../stores/session-store.js'

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

/**
 * Why a request over HTTP that names another revision than its session's is not taken (specification:
 * transports); undefined when it is. `2025-03-26` counts as no word about it, since a request without the
 * header is taken for that.
 */
function revisionProblem(peer: Peer | undefined, revision: string): TransportError | undefined {
  if (peer?.transport !== 'http') return undefined
  const given = peer.headers['mcp-protocol-version']
  if (given === undefined || given === revision || given === revisionWithoutHeader) return undefined
  const got = typeof given === 'string' && isSupported(given) ? given : 'what is none of ours'
  const problem = `MCP-Protocol-Version: expected ${revision}, which this session has negotiated, got ${got}`
  return new TransportError('REVISION_MISMATCH', problem)
}
