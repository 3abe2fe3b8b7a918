import { among } from '../../runtime/base/near.js'
import { isObject } from '../../protocol/wire/json.js'
import type { CacheHints } from '../../protocol/messages/base.js'
import type { DefinitionReaders } from './definition.js'

/** How long clients of 2026-07-28 may cache an answer (specification: caching). */
export interface CacheOptions {
  /** Milliseconds, a whole number. Default 0: not at all. */
  readonly ttl?: number
  /** `public`: the same for everybody; `private`: for the authorization that asked. Default `private`. */
  readonly scope?: 'public' | 'private'
}

export const notKept: CacheHints = Object.freeze({ ttlMs: 0, cacheScope: 'private' })

/** Reads the `cache` of a definition; undefined if it has none. Throws BAD_DEFINITION. */
export function readCache({ bad }: DefinitionReaders, cache: unknown): CacheHints | undefined {
  if (cache === undefined) return undefined
  if (!isObject(cache)) throw bad('cache', 'an object with ttl and scope', cache)
  const unknown = Object.keys(cache).find((field) => field !== 'ttl' && field !== 'scope')
  if (unknown !== undefined)
    throw bad(`cache.${unknown}`, among('a field', ['ttl', 'scope'], unknown), unknown)
  const { ttl = 0, scope = 'private' } = cache
  if (!(Number.isSafeInteger(ttl) && (ttl as number) >= 0))
    throw bad('cache.ttl', 'whole milliseconds of 0 or more', ttl)
  if (scope !== 'public' && scope !== 'private') throw bad('cache.scope', 'public or private', scope)
  return Object.freeze({ ttlMs: ttl as number, cacheScope: scope })
}
