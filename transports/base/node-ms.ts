/**
 * Whole milliseconds for a timer within Node: up to 2^31 less a second, since Node adds one to some. What is
 * longer, or Infinity, is refused there or fires at once with a warning.
 */
export function nodeMs(ms: number): number {
  return Math.min(Math.ceil(ms), longest)
}

const longest = 2 ** 31 - 1 - 1_000
