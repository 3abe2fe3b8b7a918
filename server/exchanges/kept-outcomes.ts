import type { Response } from '../../transports/contract/contract.js'
import { textOf } from '../../transports/base/encoded.js'

/** Outcomes at once, and characters of JSON text in all. */
const maxKept = 1_000
const maxCharacters = 16 * 1024 * 1024

interface Kept {
  readonly text: string
  /** When nobody can ask for it any more. */
  readonly until: number
}

/**
 * The answers that rounds have led to, for retries that are made twice; beyond the bound, the oldest is
 * forgotten.
 */
export class KeptOutcomes {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => number
  #characters = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#kept.size
  }

  /** Keeps what a round has led to for as many ms as its state can be sent again. */
  keep(round: string, response: Response, time: number): void {
    this.#forget(round)
    const text = textOf(response)
    this.#kept.set(round, { text, until: this.#now() + time })
    this.#characters += text.length
    for (const [oldest, { until }] of this.#kept) {
      const fits = this.#kept.size <= maxKept && this.#characters <= maxCharacters
      if (fits && until > this.#now()) return
      this.#forget(oldest)
    }
  }

  get(round: string): Response | undefined {
    const kept = this.#kept.get(round)
    if (kept !== undefined && kept.until > this.#now()) return JSON.parse(kept.text)
    this.#forget(round)
    return undefined
  }

  #forget(round: string): void {
    const kept = this.#kept.get(round)
    if (kept === undefined) return
    this.#kept.delete(round)
    this.#characters -= kept.text.length
  }
}
