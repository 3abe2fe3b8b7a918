import type { Dialect, Revision } from './dialect.js'
import { dialect20251125 } from './dialects/2025-11-25.js'
import { ProtocolError } from './errors.js'

/** The revisions with a handshake, newest first. */
export const handshakeDialects: readonly Dialect[] = Object.freeze([dialect20251125])

/** The revision that a client asks for, and that a server offers to a client it does not understand. */
export const latestHandshake: Dialect = dialect20251125

/** Whether we speak this revision. */
export function isSupported(revision: string): revision is Revision {
  return dialectOf(revision) !== undefined
}

/** The dialect of a revision, or undefined when we do not speak it. */
export function dialectOf(revision: string): Dialect | undefined {
  return handshakeDialects.find((dialect) => dialect.revision === revision)
}

/** What a server answers to `initialize`: the revision asked for, or else its own newest (specification: lifecycle). */
export function negotiate(requested: string): Dialect {
  return dialectOf(requested) ?? latestHandshake
}

/** What a client makes of the answer to `initialize`. Throws NO_COMMON_REVISION: it has to disconnect (specification: lifecycle). */
export function acceptRevision(answered: string): Dialect {
  const dialect = dialectOf(answered)
  if (dialect !== undefined) return dialect
  const supported = handshakeDialects.map(({ revision }) => revision)
  const problem = `the server speaks ${JSON.stringify(answered.slice(0, 40))}, this client ${supported.join(', ')}`
  throw new ProtocolError('NO_COMMON_REVISION', problem, { data: { supported, answered } })
}
