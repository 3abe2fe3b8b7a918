import { among } from '../../runtime/base/near.js'
import { isObject } from '../../protocol/wire/json.js'
import type { CacheHints } from '../../protocol/messages/base.js'
import { badDefinition } from './definition.js'

/** How long an answer may be kept by clients of 2026-07-28 (specification: caching). */
export interface CacheOptions {
  /** Milliseconds, a whole number. Default 0: it is asked for anew each time. */
  readonly ttl?: number
  /**
   * Whether it is the same for everybody (`public`), or good only for the authorization it was asked with.
   * Default `private`.
   */
  readonly scope?: 'public' | 'private'
}

/** What is said where an author says nothing. */
export const notKept: CacheHints = Object.freeze({ ttlMs: 0, cacheScope: 'private' })

/** Reads the `cache` of a definition; undefined when there is none. Throws BAD_DEFINITION. */
export function readCache(about: string, cache: unknown): CacheHints | undefined {
  if (cache === undefined) return undefined
  if (!isObject(cache)) throw badDefinition(about, 'cache', 'an object with ttl and scope', cache)
  for (const field of Object.keys(cache))
    if (field !== 'ttl' && field !== 'scope')
      throw badDefinition(about, `cache.${field}`, among('a field', ['ttl', 'scope'], field), field)
  const { ttl = 0, scope = 'private' } = cache
  if (!(Number.isSafeInteger(ttl) && (ttl as number) >= 0))
    throw badDefinition(about, 'cache.ttl', 'whole milliseconds of 0 or more', ttl)
  if (scope !== 'public' && scope !== 'private')
    throw badDefinition(about, 'cache.scope', 'public or private', scope)
  return Object.freeze({ ttlMs: ttl as number, cacheScope: scope })
}
