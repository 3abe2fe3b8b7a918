import type { BaseResult, CacheHints, Implementation, Meta } from '../messages/base.js'
import { metaKeys } from './envelope.js'

/** What a server adds to its results in 2026-07-28. */
export interface Stamp {
  readonly serverInfo: Implementation
  /** For results that may be kept. Default: 0 ms, private. */
  readonly cache?: CacheHints | undefined
}

/**
 * The result as 2026-07-28 wants it: with `resultType` (default `complete`), the server in `_meta`, and cache
 * hints if the method needs them. Hints of the result come before those of the stamp. Does not change the
 * given result.
 */
export function stampResult<R extends object>(
  method: string,
  result: R,
  { serverInfo, cache = notKept }: Stamp,
): R & BaseResult {
  const _meta = { [metaKeys.serverInfo]: serverInfo }
  const isCacheable = cacheableMethods.has(method)
  if (additions.some((field) => field in result)) return addTo(result, _meta, isCacheable ? cache : undefined)
  // V8 adds to a literal in ns, to a copy in µs: what is added stands first
  if (!isCacheable) return { resultType: 'complete', _meta, ...result }
  const { ttlMs, cacheScope } = cache
  return { resultType: 'complete', _meta, ttlMs, cacheScope, ...result }
}

const additions = Object.freeze(['resultType', '_meta', 'ttlMs', 'cacheScope'])

/** For a result that has some of these fields already. */
function addTo<R extends object>(result: R, meta: Meta, cache: CacheHints | undefined): R & BaseResult {
  const own = result as BaseResult & Partial<CacheHints>
  const { resultType = 'complete' } = own
  // a result that asks for input is not kept
  const hints = cache !== undefined && resultType === 'complete' ? readCacheHints(own, cache) : undefined
  return { ...result, resultType, _meta: { ...own._meta, ...meta }, ...hints }
}

/** The methods whose results say how long they may be kept (specification: 2026-07-28, caching). */
export const cacheableMethods: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'skills/list',
  'skills/get',
])

/** The hints of a result that has none: it is not cached. */
export const notKept: CacheHints = Object.freeze({ ttlMs: 0, cacheScope: 'private' })

/**
 * The hints of a result. What is missing or invalid (a negative or broken time, an unknown scope) is taken
 * from `otherwise`, by default 0 ms and private.
 */
export function readCacheHints(
  { ttlMs, cacheScope }: { readonly ttlMs?: unknown; readonly cacheScope?: unknown },
  otherwise: CacheHints = notKept,
): CacheHints {
  return {
    ttlMs: Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0 ? (ttlMs as number) : otherwise.ttlMs,
    cacheScope: cacheScope === 'public' || cacheScope === 'private' ? cacheScope : otherwise.cacheScope,
  }
}
