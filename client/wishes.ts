import { hasCapability } from '../protocol/capabilities.js'
import type { LoggingLevel } from '../protocol/types/notifications.js'
import type { Root } from '../protocol/types/roots.js'
import type { Incarnation } from './incarnation.js'

/** What a client wants of its server, whatever becomes of the connection: it is said again in every new session. */
export interface Wishes {
  /** The least severe log messages that are wanted; undefined: nothing was said. */
  level: LoggingLevel | undefined
  /** The resources whose changes are to be told. */
  readonly uris: Set<string>
  /** The places that the server may work in; undefined: those of the options. */
  roots: readonly Root[] | undefined
}

/** No wishes yet. */
export function noWishes(): Wishes {
  return { level: undefined, uris: new Set(), roots: undefined }
}

/**
 * Says the wishes to the server of a new session, before any call that waited. Nobody waits for the answers: what a server refuses now it would
 * have refused then. In 2026-07-28 the level travels with each request, and the rest is the filter of one stream.
 */
export function sayWishes(state: Incarnation): void {
  const { holdings, speech, own, calls, settings } = state
  if (!speech.dialect.handshake) return state.listening.begin()
  const { level, uris } = holdings.wishes
  const capabilities = holdings.server?.capabilities ?? {}
  const say = (method: string, params: Record<string, unknown>): void =>
    own.send(speech, { id: calls.nextId(), method, params, timeout: settings.timeout, done: () => {} })
  if (level !== undefined && hasCapability(capabilities, 'logging')) say('logging/setLevel', { level })
  if (!hasCapability(capabilities, 'resources.subscribe')) return
  for (const uri of uris) say('resources/subscribe', { uri })
}
