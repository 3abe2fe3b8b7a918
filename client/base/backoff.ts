/**
 * How a client waits before it connects again: full jitter below a ceiling that doubles with every failure,
 * and stays low while somebody waits.
 */
export interface BackoffOptions {
  /** The ceiling of the first wait, in ms. Default 500. */
  readonly base?: number
  /**
   * The highest ceiling, in ms, and the longest time that is added because a busy server (429, 503) asked for
   * it with `Retry-After`. Default 30,000.
   */
  readonly cap?: number
  /**
   * The highest ceiling while somebody waits for the client, in ms: a call, or `ready()`. A server that is a
   * child process may be started again a tenth of the time at most. Default 1,000.
   */
  readonly awaitedCap?: number
  /** How long a connection must be ready until earlier failures are forgotten, in ms. Default 10,000. */
  readonly stable?: number
  /** Where the jitter comes from: a number from 0 to 1. Default `Math.random`. */
  readonly random?: () => number
}

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
