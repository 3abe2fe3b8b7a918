import type { Dialect, Revision } from './dialect.js'
import { dialect20241105 } from './dialects/2024-11-05.js'
import { dialect20250326 } from './dialects/2025-03-26.js'
import { dialect20250618 } from './dialects/2025-06-18.js'
import { dialect20251125 } from './dialects/2025-11-25.js'
import { ProtocolError } from './errors.js'

/** The revisions with a handshake, newest first: all of them are negotiated. */
export const allHandshakeDialects: readonly Dialect[] = Object.freeze([
  dialect20251125,
  dialect20250618,
  dialect20250326,
  dialect20241105,
])

/** The revision that a client asks for, and that a server offers to a client it does not understand. */
export const latestHandshake: Dialect = dialect20251125

/** What an HTTP request without `MCP-Protocol-Version` speaks when nothing else is known (specification: transports). */
export const revisionWithoutHeader: Revision = '2025-03-26'

/** Whether this revision is negotiated. */
export function isSupported(revision: string): revision is Revision {
  return dialectOf(revision) !== undefined
}

/** The dialect of a revision, or undefined when we do not know it. */
export function dialectOf(revision: string): Dialect | undefined {
  return allHandshakeDialects.find((dialect) => dialect.revision === revision)
}

/** What a server answers to `initialize`: the revision asked for, or else its own newest (specification: lifecycle). */
export function negotiate(requested: string): Dialect {
  return dialectOf(requested) ?? latestHandshake
}

/** What a client makes of the answer to `initialize`. Throws NO_COMMON_REVISION: it has to disconnect (specification: lifecycle). */
export function acceptRevision(answered: string): Dialect {
  const dialect = dialectOf(answered)
  if (dialect !== undefined) return dialect
  const revisions = allHandshakeDialects.map(({ revision }) => revision)
  const problem = `the server speaks ${JSON.stringify(answered.slice(0, 40))}, this client ${revisions.join(', ')}`
  throw new ProtocolError('NO_COMMON_REVISION', problem, { data: { supported: revisions, answered } })
}
