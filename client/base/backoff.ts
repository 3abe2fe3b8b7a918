import type { BackoffOptions } from '../options/options.js'

/** What goes before a pause. */
export interface Setback {
  /** Attempts that failed before the last one, in a row. */
  readonly failures: number
  /** Whether somebody waits for the next one. */
  readonly awaited: boolean
  /** Milliseconds that the last one kept the machine busy, as the start of a program does. */
  readonly busy: number
}

/** While somebody waits, attempts may keep the machine busy for a tenth of the time. */
const rest = 10

/**
 * Milliseconds until the next attempt: full jitter below a ceiling that doubles, so that clients of one
 * server do not come back together. While somebody waits the ceiling stays low, so that a server that is back
 * is found soon.
 */
export function pauseAfter({ failures, awaited, busy }: Setback, backoff: Required<BackoffOptions>): number {
  const { base, cap, random } = backoff
  const highest = awaited ? awaitedCeiling(busy, backoff) : cap
  return random() * Math.min(cap, highest, base * 2 ** failures)
}

/**
 * Milliseconds that are left of a pause once somebody begins to wait: a long one goes on as after a first
 * failure.
 */
export function pauseLeft(left: number, busy: number, backoff: Required<BackoffOptions>): number {
  if (left <= awaitedCeiling(busy, backoff)) return left
  return pauseAfter({ failures: 0, awaited: true, busy }, backoff)
}

function awaitedCeiling(busy: number, { awaitedCap }: Required<BackoffOptions>): number {
  return Math.max(awaitedCap, rest * busy)
}
