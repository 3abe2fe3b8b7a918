import { cacheableMethods, readCacheHints } from '../../protocol/stateless/stamp.js'
import type { JsonObject } from '../../protocol/wire/json.js'

interface Kept {
  readonly method: string
  readonly params: JsonObject
  /** The answer as JSON text, so that its memory is known, and each caller gets a copy. */
  readonly text: string
  readonly bytes: number
  readonly until: number
}

/** How many answers are kept, and their bytes in all. */
export interface CacheLimits {
  readonly cacheSize: number
  readonly cacheBytes: number
}

/** The lists that a notification makes stale. */
const staleBy: ReadonlyMap<string, readonly string[]> = new Map([
  ['notifications/tools/list_changed', ['tools/list']],
  ['notifications/prompts/list_changed', ['prompts/list']],
  ['notifications/resources/list_changed', ['resources/list', 'resources/templates/list']],
])

/**
 * Answers that the server allows to be kept (`ttlMs`, 2026-07-28), each page and each resource on its own.
 * The oldest go first. A change that the server tells, or that may have been missed, makes them stale at
 * once. The cache belongs to one client, and so to one authorization.
 */
export class Cache {
  readonly #limits: CacheLimits
  readonly #kept = new Map<string, Kept>()
  #bytes = 0
  #changes = 0

  constructor(limits: CacheLimits) {
    this.#limits = limits
  }

  /** Grows with every change. Do not keep answers to requests sent before the last change. */
  get changes(): number {
    return this.#changes
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0
  }

  /** A copy of the answer that is kept, if it still holds. */
  find(method: string, params: JsonObject | undefined, now: number): JsonObject | undefined {
    const kept = this.#kept.get(keyOf(method, params))
    return kept === undefined || kept.until <= now ? undefined : JSON.parse(kept.text)
  }

  /** Keeps an answer as long as it says. */
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

  /** The server told of a change. */
  changed(notification: string, params: JsonObject): void {
    const methods = staleBy.get(notification)
    if (methods !== undefined) this.#drop((kept) => methods.includes(kept.method))
    else if (notification === 'notifications/resources/updated') {
      const { uri } = params
      this.#drop((kept) => kept.method === 'resources/read' && isSameOrWithin(kept.params.uri, uri))
    }
  }

  /** A cursor of this list was refused: its pages are out of date. */
  dropList(method: string): void {
    this.#drop((kept) => kept.method === method)
  }

  /** Nothing holds any more. */
  clear(): void {
    this.#drop(() => true)
  }

  #drop(isStale: (kept: Kept) => boolean): void {
    this.#changes += 1
    for (const [key, kept] of this.#kept) if (isStale(kept)) this.#forget(key)
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}

/** `_meta` belongs to one call alone (progress, traces). */
function keyOf(method: string, params: JsonObject = {}): string {
  const { _meta, ...rest } = params
  return `${method} ${JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)))}`
}

/**
 * The resource that has changed may be a part of the one that was read, or contain it (specification:
 * resources).
 */
function isSameOrWithin(read: unknown, told: unknown): boolean {
  if (typeof read !== 'string' || typeof told !== 'string') return true
  return read.startsWith(told) || told.startsWith(read)
}
