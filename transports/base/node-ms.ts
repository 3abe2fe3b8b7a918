/** Whole ms for a timer of Node: up to 2^31 less a second. Longer ones fire at once or are refused. */
export function nodeMs(ms: number): number {
  return Math.min(Math.ceil(ms), longest)
}

const longest = 2 ** 31 - 1 - 1_000
