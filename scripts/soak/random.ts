/** Numbers that are the same for the same seed. */
export interface Random {
  /** From 0 to 1, without 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** One of these, all equally likely, or each by its weight; undefined of none. */
  pick<T>(from: readonly T[], weight?: (one: T) => number): T | undefined
}

/** A generator of its own for every seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  const pick = <T>(from: readonly T[], weight: (one: T) => number = () => 1): T | undefined => {
    let left = next() * from.reduce((sum, one) => sum + weight(one), 0)
    for (const one of from) {
      left -= weight(one)
      if (left < 0) return one
    }
    return from.at(-1)
  }
  return { next, between, pick }
}
