import { type LoggingLevel, loggingLevels } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'

/** Log level and subscriptions of a client's user, or of one program that shares it. */
export interface Wisher {
  /** The least severe; undefined: none was set. */
  level: LoggingLevel | undefined
  /** Subscribed resources. */
  readonly uris: Set<string>
}

/** What is sent again in every new session. */
export interface Wishes extends Wisher {
  /** Those of programs that share the client. */
  readonly others: Set<Wisher>
  /** Undefined: those of the options. */
  roots: readonly Root[] | undefined
}

export function noWishes(): Wishes {
  return { level: undefined, uris: new Set(), others: new Set(), roots: undefined }
}

/** The least severe of all. */
export function wishedLevel(wishes: Wishes): LoggingLevel | undefined {
  if (wishes.others.size === 0) return wishes.level // read for every request of 2026-07-28
  const wanted = [wishes, ...wishes.others].map(({ level }) => level)
  return loggingLevels.find((level) => wanted.includes(level))
}

export function wishedUris(wishes: Wishes): ReadonlySet<string> {
  if (wishes.others.size === 0) return wishes.uris
  return new Set([wishes, ...wishes.others].flatMap(({ uris }) => [...uris]))
}

export function isWished(wishes: Wishes, uri: string): boolean {
  return wishes.uris.has(uri) || [...wishes.others].some(({ uris }) => uris.has(uri))
}
