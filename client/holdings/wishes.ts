import { type LoggingLevel, loggingLevels } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'

/** The wishes of the user of a client, or of one program that it is shared with. */
export interface Wisher {
  /** The least severe log messages that are wanted; undefined: no level was set. */
  level: LoggingLevel | undefined
  /** The resources whose changes are to be told. */
  readonly uris: Set<string>
}

/** What a client wants of its server: it is sent again in every new session. */
export interface Wishes extends Wisher {
  /** The wishes of programs that the client is shared with. */
  readonly others: Set<Wisher>
  /** The folders that the server may work in; undefined: those of the options. */
  roots: readonly Root[] | undefined
}

/** No wishes yet. */
export function noWishes(): Wishes {
  return { level: undefined, uris: new Set(), others: new Set(), roots: undefined }
}

/** The least severe log level of all wishes; undefined: none was set. */
export function wishedLevel(wishes: Wishes): LoggingLevel | undefined {
  if (wishes.others.size === 0) return wishes.level // read for every request of 2026-07-28
  const wanted = [wishes, ...wishes.others].map(({ level }) => level)
  return loggingLevels.find((level) => wanted.includes(level))
}

/** The resources of all wishes. */
export function wishedUris(wishes: Wishes): ReadonlySet<string> {
  if (wishes.others.size === 0) return wishes.uris
  return new Set([wishes, ...wishes.others].flatMap(({ uris }) => [...uris]))
}

/** Whether a resource is among them. */
export function isWished(wishes: Wishes, uri: string): boolean {
  return wishes.uris.has(uri) || [...wishes.others].some(({ uris }) => uris.has(uri))
}
