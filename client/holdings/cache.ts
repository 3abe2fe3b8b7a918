import { cacheableMethods, readCacheHints } from '../../protocol/stateless/stamp.js'
import type { JsonObject } from '../../protocol/wire/json.js'

interface CacheEntry {
  readonly method: string
  readonly params: JsonObject
  /** As JSON text: its size is known, and each caller gets a copy. */
  readonly text: string
  readonly bytes: number
  readonly until: number
}

interface CacheLimits {
  readonly cacheSize: number
  readonly cacheBytes: number
}

const staleBy: ReadonlyMap<string, readonly string[]> = new Map([
  ['notifications/tools/list_changed', ['tools/list']],
  ['notifications/prompts/list_changed', ['prompts/list']],
  ['notifications/resources/list_changed', ['resources/list', 'resources/templates/list']],
])

/**
 * Answers that the server allows to be kept (`ttlMs`, 2026-07-28), per page and resource; the oldest go
 * first. Told or missed changes clear them. One cache per client, and so per authorization.
 */
export class Cache {
  readonly #limits: CacheLimits
  readonly #kept = new Map<string, CacheEntry>()
  #bytes = 0
  #changes = 0

  constructor(limits: CacheLimits) {
    this.#limits = limits
  }

  /** Grows with every change: answers to older requests must not be kept. */
  get changes(): number {
    return this.#changes
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0
  }

  has(method: string, params: JsonObject | undefined, now: number): boolean {
    const kept = this.#kept.get(keyOf(method, params))
    return kept !== undefined && kept.until > now
  }

  /** A copy. */
  find(method: string, params: JsonObject | undefined, now: number): JsonObject | undefined {
    const kept = this.#kept.get(keyOf(method, params))
    return kept === undefined || kept.until <= now ? undefined : JSON.parse(kept.text)
  }

  keep(method: string, params: JsonObject | undefined, result: JsonObject, now: number): void {
    const { ttlMs } = readCacheHints(result)
    const { cacheSize, cacheBytes } = this.#limits
    if (cacheSize === 0 || ttlMs === 0 || !cacheableMethods.has(method)) return
    const key = keyOf(method, params)
    const text = JSON.stringify(result)
    const bytes = Buffer.byteLength(text) + key.length
    this.#forget(key)
    if (bytes > cacheBytes) return
    this.#kept.set(key, { method, params: params ?? {}, text, bytes, until: now + ttlMs })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= cacheSize && this.#bytes <= cacheBytes) return
      this.#forget(oldest)
    }
  }

  changed(notification: string, params: JsonObject): void {
    const methods = staleBy.get(notification)
    if (methods !== undefined) this.#drop((kept) => methods.includes(kept.method))
    else if (notification === 'notifications/resources/updated') {
      const { uri } = params
      this.#drop((kept) => kept.method === 'resources/read' && isSameOrWithin(kept.params.uri, uri))
    }
  }

  /** A cursor was refused: the pages are out of date. */
  dropList(method: string): void {
    this.#drop((kept) => kept.method === method)
  }

  clear(): void {
    this.#drop(() => true)
  }

  #drop(isStale: (kept: CacheEntry) => boolean): void {
    this.#changes += 1
    for (const [key, kept] of this.#kept) if (isStale(kept)) this.#forget(key)
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}

/** Without `_meta`, which belongs to one call. */
function keyOf(method: string, params: JsonObject = {}): string {
  const { _meta, ...rest } = params
  return `${method} ${JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)))}`
}

/** The changed resource may be part of the one read, or contain it (specification: resources). */
function isSameOrWithin(read: unknown, told: unknown): boolean {
  if (typeof read !== 'string' || typeof told !== 'string') return true
  return read.startsWith(told) || told.startsWith(read)
}
