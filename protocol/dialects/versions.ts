import type { Dialect, Revision } from './dialect.js'
import { dialect20241105 } from './2024-11-05.js'
import { dialect20250326 } from './2025-03-26.js'
import { dialect20250618 } from './2025-06-18.js'
import { dialect20251125 } from './2025-11-25.js'
import { dialect20260728 } from './2026-07-28.js'
import { ProtocolError } from '../wire/errors.js'

/** The revisions with a handshake, newest first; none is in `modernDialects` as well. */
export const allHandshakeDialects: readonly Dialect[] = Object.freeze([
  dialect20251125,
  dialect20250618,
  dialect20250326,
  dialect20241105,
])

/** The revisions without a handshake, newest first: each request says which of them it is in. */
export const modernDialects: readonly Dialect[] = Object.freeze([dialect20260728])

/** What `server/discover` and the error -32022 name: no revision with a handshake (versioning). */
export const modernRevisions: readonly Revision[] = revisionsOf(modernDialects)

/** Every revision that we speak, newest first. */
export const allRevisions: readonly Revision[] = revisionsOf([...modernDialects, ...allHandshakeDialects])

/** The revisions that take a handshake, newest first. */
export const handshakeRevisions: readonly Revision[] = revisionsOf(allHandshakeDialects)

/**
 * The revisions of `among` without a handshake; all of `among` where there is none: then clients begin with
 * `initialize`.
 */
export function offered(among: readonly Revision[]): readonly Revision[] {
  const modern = among.filter(isModernRevision)
  return modern.length > 0 ? modern : among
}

/** Whether any of them has a handshake. */
export function haveHandshake(among: readonly Revision[]): boolean {
  return among.some((revision) => revision < firstModern)
}

/** The dialects of those with a handshake, newest first. */
export function handshakesOf(among: readonly Revision[]): readonly Dialect[] {
  return allHandshakeDialects.filter(({ revision }) => among.includes(revision))
}

/** What a client asks for, and what a server offers a client whose revision it does not know. */
export const latestHandshake: Dialect = dialect20251125

/** The newest revision without a handshake. */
export const latestModern: Dialect = dialect20260728

const firstModern: Revision = '2026-07-28'
const dateLike = /^\d{4}-\d{2}-\d{2}$/

/** The revision of an HTTP request without `MCP-Protocol-Version` (specification: transports). */
export const revisionWithoutHeader: Revision = '2025-03-26'

/** Whether this revision is negotiated by a handshake. */
export function isSupported(revision: string): revision is Revision {
  return dialectOf(revision) !== undefined
}

/** The dialect of a revision with a handshake; undefined: it is not `among` them. */
export function dialectOf(
  revision: string,
  among: readonly Dialect[] = allHandshakeDialects,
): Dialect | undefined {
  return among.find((dialect) => dialect.revision === revision)
}

/** The dialect of a revision without a handshake; undefined: unknown, or not `among` them. */
export function modernDialectOf(
  revision: string,
  among: readonly Revision[] = modernRevisions,
): Dialect | undefined {
  return modernDialects.find((dialect) => dialect.revision === revision && among.includes(dialect.revision))
}

/** Whether this is a revision without a handshake, known or not. */
export function isModernRevision(revision: string): boolean {
  return revision >= firstModern && dateLike.test(revision)
}

/**
 * The revision that a server answers to `initialize`: the one asked for, or else its own newest, the first.
 */
export function negotiate(requested: string, among: readonly Dialect[] = allHandshakeDialects): Dialect {
  return dialectOf(requested, among) ?? among[0] ?? latestHandshake
}

/**
 * The revision that a server answered to `initialize`. Throws NO_COMMON_REVISION (specification: lifecycle).
 */
export function acceptRevision(answered: string, among: readonly Dialect[] = allHandshakeDialects): Dialect {
  const dialect = dialectOf(answered, among)
  if (dialect !== undefined) return dialect
  const revisions = revisionsOf(among)
  const problem = `the server speaks ${JSON.stringify(answered.slice(0, 40))}, this client ${revisions.join(', ')}`
  throw new ProtocolError('NO_COMMON_REVISION', problem, { data: { supported: revisions, answered } })
}

function revisionsOf(dialects: readonly Dialect[]): readonly Revision[] {
  return Object.freeze(dialects.map(({ revision }) => revision))
}
