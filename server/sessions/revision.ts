import { isSupported, revisionWithoutHeader } from '../../protocol/dialects/versions.js'
import type { Peer } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'

/**
 * Why a request over HTTP that names another revision than its session's is not taken (specification:
 * transports); undefined when it is. `2025-03-26` counts as no word about it, since a request without the
 * header is taken for that.
 */
export function revisionProblem(peer: Peer | undefined, revision: string): TransportError | undefined {
  if (peer?.transport !== 'http') return undefined
  const given = peer.headers['mcp-protocol-version']
  if (given === undefined || given === revision || given === revisionWithoutHeader) return undefined
  const got = typeof given === 'string' && isSupported(given) ? given : 'what is none of ours'
  const problem = `MCP-Protocol-Version: expected ${revision}, which this session has negotiated, got ${got}`
  return new TransportError('REVISION_MISMATCH', problem)
}
