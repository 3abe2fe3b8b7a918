/**
 * The ratios to a hand-written limit that this library had when they were measured last, with Node 20 on two
 * cores. Machines differ, and one differs from hour to hour: the same tree had 1.55 and 2.05 for `session_c16`,
 * 1.85 and 2.3 for `stdio_client_c16`. So what is too much is measured against the tree before (`--against`).
 */
export const kept = {
  session_c16: 1.55,
  modern_c16: 1.32,
  stdio_c64: 2.7,
  http_client_c16: 1.15,
  stdio_client_c16: 1.85,
  cold: 1.9,
  session_memory: 2.5,
} as const
export type Row = keyof typeof kept

/** How much more than the kept one a ratio may be: less than a quarter more work adds. */
export const tolerance = 0.15

/** How much more than the tree before a row may cost, in one run. */
const mostMore = 1.1

/** All that was measured of one row, in all rounds: of this library, and of what it is compared with. */
export interface Samples {
  readonly ours: readonly number[]
  readonly other: readonly number[]
}

/**
 * The ratio of the lower quartiles, NaN without samples. What else a machine does makes a stretch dearer, never
 * cheaper: the cheap ones say what the work itself costs.
 */
export function ratioOf({ ours, other }: Samples): number {
  return lowerQuartile(ours) / lowerQuartile(other)
}

/** One that could not be measured is too much as well. */
export function isTooMuch(row: Row, ratio: number): boolean {
  return !(ratio <= kept[row] * (1 + tolerance))
}

/** The same of a ratio to the tree before. */
export function isMore(ratio: number): boolean {
  return !(ratio <= mostMore)
}

/** The line of the report on a ratio to the tree before. */
export function compare(row: Row, ratio: number): string {
  const verdict = isMore(ratio) ? 'too much' : ratio < 1 / mostMore ? 'less' : 'the same'
  return `${row.padEnd(18)}${ratio.toFixed(2).padStart(6)}x  of the tree before  ${verdict}`
}

/** The line of the report. */
export function describe(row: Row, ratio: number): string {
  const verdict = isTooMuch(row, ratio)
    ? 'too much'
    : ratio < kept[row] * (1 - tolerance)
      ? 'better: write it down in scripts/bench/gate/verdict.ts'
      : 'as kept'
  return `${row.padEnd(18)}${ratio.toFixed(2).padStart(6)}x  kept ${kept[row].toFixed(2)}x  ${verdict}`
}

function lowerQuartile(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 2] ?? Number.NaN
}
