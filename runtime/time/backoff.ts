/** Pauses between attempts that fail, in ms. */
export interface Backoff {
  /** After the first failure; doubled with each that follows. */
  readonly first: number
  readonly longest: number
}

/** Milliseconds until the next attempt, after so many failures in a row before the last one. */
export function backoff({ first, longest }: Backoff, failures: number): number {
  return Math.min(longest, first * 2 ** failures)
}

/** Between half and all of it, so that those who failed together do not come back together. */
export function jittered(ms: number, random: () => number): number {
  return (ms / 2) * (1 + random())
}
