import type { CacheHints } from '../messages/base.js'

/** The methods whose results say how long they may be kept (specification: 2026-07-28, caching). */
export const cacheableMethods: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** What a result without hints means: it is not kept. */
export const notKept: CacheHints = Object.freeze({ ttlMs: 0, cacheScope: 'private' })

/**
 * The hints of a result. What is missing, or is no hint (a time that is negative or no whole number, an
 * unknown scope), is taken from `otherwise`, by default 0 ms and private.
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
