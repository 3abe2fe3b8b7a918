import type { Dialect, Revision } from './dialect.js'
import { dialect20241105 } from './dialects/2024-11-05.js'
import { dialect20250326 } from './dialects/2025-03-26.js'
import { dialect20250618 } from './dialects/2025-06-18.js'
import { dialect20251125 } from './dialects/2025-11-25.js'
import { dialect20260728 } from './dialects/2026-07-28.js'
import { ProtocolError } from './errors.js'

/** The revisions with a handshake, newest first: all of them are negotiated. No revision is both here and in `modernDialects`. */
export const allHandshakeDialects: readonly Dialect[] = Object.freeze([
  dialect20251125,
  dialect20250618,
  dialect20250326,
  dialect20241105,
])

/** The revisions without a handshake, newest first: each request says which of them it is in. */
export const modernDialects: readonly Dialect[] = Object.freeze([dialect20260728])

/** What `server/discover` and the error -32022 name: never a revision that takes a handshake (specification: versioning). */
export const modernRevisions: readonly Revision[] = Object.freeze(
  modernDialects.map(({ revision }) => revision),
)

/** The revision that a client asks for, and that a server offers to a client it does not understand. */
export const latestHandshake: Dialect = dialect20251125

const firstModern: Revision = '2026-07-28'
const dateLike = /^\d{4}-\d{2}-\d{2}$/

/** What an HTTP request without `MCP-Protocol-Version` speaks when nothing else is known (specification: transports). */
export const revisionWithoutHeader: Revision = '2025-03-26'

/** Whether this revision is negotiated by a handshake. */
export function isSupported(revision: string): revision is Revision {
  return dialectOf(revision) !== undefined
}

/** The dialect of a revision with a handshake, or undefined when it is not among those that we know, or that are given. */
export function dialectOf(
  revision: string,
  among: readonly Dialect[] = allHandshakeDialects,
): Dialect | undefined {
  return among.find((dialect) => dialect.revision === revision)
}

/** The dialect of a revision without a handshake, or undefined when we do not know it. */
export function modernDialectOf(revision: string): Dialect | undefined {
  return modernDialects.find((dialect) => dialect.revision === revision)
}

/** Whether this names a revision without a handshake, be it one that is not known yet. */
export function isModernRevision(revision: string): boolean {
  return revision >= firstModern && dateLike.test(revision)
}

/** What a server answers to `initialize`: the revision asked for, or else its own newest, which is the first (specification: lifecycle). */
export function negotiate(requested: string, among: readonly Dialect[] = allHandshakeDialects): Dialect {
  return dialectOf(requested, among) ?? among[0] ?? latestHandshake
}

/** What a client makes of the answer to `initialize`. Throws NO_COMMON_REVISION: it has to disconnect (specification: lifecycle). */
export function acceptRevision(answered: string, among: readonly Dialect[] = allHandshakeDialects): Dialect {
  const dialect = dialectOf(answered, among)
  if (dialect !== undefined) return dialect
  const revisions = among.map(({ revision }) => revision)
  const problem = `the server speaks ${JSON.stringify(answered.slice(0, 40))}, this client ${revisions.join(', ')}`
  throw new ProtocolError('NO_COMMON_REVISION', problem, { data: { supported: revisions, answered } })
}
