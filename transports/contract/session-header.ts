import type { Revision } from '../../protocol/dialects/dialect.js'
import { handshakesOf, isSupported, revisionWithoutHeader } from '../../protocol/dialects/versions.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import type { Peer } from './contract.js'

/**
 * What every request after `initialize` has to say by HTTP: its session, and one of the revisions that are
 * spoken, if any (specification: transports). Throws ProtocolError
 * INVALID_MESSAGE.
 */
export function sessionIn(headers: Peer['headers'], spoken: readonly Revision[]): string {
  const revision = headers['mcp-protocol-version']
  if (revision !== undefined && !isSpoken(revision, spoken)) {
    const known = handshakesOf(spoken).map((dialect) => dialect.revision)
    throw invalid(`MCP-Protocol-Version: expected ${known.join(', ')}`)
  }
  const sessionId = headers['mcp-session-id']
  if (typeof sessionId !== 'string' || sessionId === '')
    throw invalid('Mcp-Session-Id: expected the id of a session')
  return sessionId
}

/** `2025-03-26` counts as no header, since that is what none means. */
function isSpoken(revision: string | readonly string[], spoken: readonly Revision[]): boolean {
  if (revision === revisionWithoutHeader) return true
  return typeof revision === 'string' && isSupported(revision) && spoken.includes(revision)
}

/** Its answer has no id: no client waits for one under the id of a request that was not read. */
function invalid(problem: string): ProtocolError {
  return new ProtocolError('INVALID_MESSAGE', problem, { data: { about: 'unknown' } })
}
