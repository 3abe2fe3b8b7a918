import { createHash } from 'node:crypto'

/** How long answers are kept, and how many. */
export interface CacheLimits {
  /** Milliseconds; 0: none is kept. */
  readonly cacheTime: number
  readonly maxCached: number
  /** Milliseconds, never going back. Default: those of the process. */
  readonly now?: () => number
}

/** An answer, or the wait for one. */
interface Kept<Answer> {
  readonly until: number
  readonly answer: Promise<Answer>
}

/**
 * What has been found out of tokens, for a while, by their digests: no token is kept. All who ask for one at
 * once share the answer.
 */
export class TokenCache<Answer> {
  readonly #limits: CacheLimits
  readonly #now: () => number
  /** The oldest come first. */
  readonly #kept = new Map<string, Kept<Answer>>()

  constructor(limits: CacheLimits) {
    this.#limits = limits
    this.#now = limits.now ?? (() => performance.now())
  }

  /** What `ask` resolves with; what it rejects with is not kept. */
  find(token: string, ask: () => Promise<Answer>): Promise<Answer> {
    const { cacheTime, maxCached } = this.#limits
    if (cacheTime === 0) return ask()
    const key = createHash('sha256').update(token).digest('base64url')
    const now = this.#now()
    const known = this.#kept.get(key)
    if (known !== undefined && known.until > now) return known.answer
    const answer = ask()
    this.#kept.delete(key)
    this.#kept.set(key, { until: now + cacheTime, answer })
    const [oldest = key] = this.#kept.keys()
    if (this.#kept.size > maxCached) this.#kept.delete(oldest)
    answer.catch(() => {
      if (this.#kept.get(key)?.answer === answer) this.#kept.delete(key)
    })
    return answer
  }
}
