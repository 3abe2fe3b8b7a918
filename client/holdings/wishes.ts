import { type LoggingLevel, loggingLevels } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'

/** Somebody who wants something of a server: the user of a client, or one of those that it is shared with. */
export interface Wisher {
  /** The least severe log messages that are wanted; undefined: nothing was said. */
  level: LoggingLevel | undefined
  /** The resources whose changes are to be told. */
  readonly uris: Set<string>
}

/**
 * What a client wants of its server, whatever becomes of the connection: it is said again in every new
 * session.
 */
export interface Wishes extends Wisher {
  /** What those want that the client is shared with. */
  readonly others: Set<Wisher>
  /** The places that the server may work in; undefined: those of the options. */
  roots: readonly Root[] | undefined
}

/** No wishes yet. */
export function noWishes(): Wishes {
  return { level: undefined, uris: new Set(), others: new Set(), roots: undefined }
}

/** The least severe log messages that anybody wants; undefined: nobody has said anything. */
export function wishedLevel(wishes: Wishes): LoggingLevel | undefined {
  if (wishes.others.size === 0) return wishes.level // it is looked at with every request of 2026-07-28
  const wanted = [wishes, ...wishes.others].map(({ level }) => level)
  return loggingLevels.find((level) => wanted.includes(level))
}

/** The resources whose changes anybody wants to hear of. */
export function wishedUris(wishes: Wishes): ReadonlySet<string> {
  if (wishes.others.size === 0) return wishes.uris
  return new Set([wishes, ...wishes.others].flatMap(({ uris }) => [...uris]))
}

/** Whether anybody wants to hear of changes of this resource. */
export function isWished(wishes: Wishes, uri: string): boolean {
  return wishes.uris.has(uri) || [...wishes.others].some(({ uris }) => uris.has(uri))
}
