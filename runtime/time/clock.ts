import { type RuntimeError, show, optionError } from '../base/errors.js'

/**
 * The time a tree lives by: milliseconds, monotonic. Give a fake one to a tree to test it without waiting.
 */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number
  /** Runs `fn` once after `ms` milliseconds; any delay is allowed, also beyond 2^31 - 1. */
  setTimeout(fn: () => void, ms: number): unknown
  /** Takes back what `setTimeout` answered; harmless when it has already run. */
  clearTimeout(timer: unknown): void
  /**
   * Milliseconds by which the deadline of a call may be late, so that all of a tree share one timer. Default
   * 0: each has fired once its time has come.
   */
  readonly grain?: number
}

const longest = 2 ** 31 - 1

/**
 * The clock of this machine: `performance.now()` and Node's timers, without their limit of 24.8 days;
 * deadlines of calls are up to 16 ms late.
 */
export const systemClock: Clock = Object.freeze({
  grain: 16,
  now: () => performance.now(),
  setTimeout: (fn: () => void, ms: number) => (ms > longest ? new LongTimer(fn, ms) : setTimeout(fn, ms)),
  clearTimeout: (timer: unknown) => {
    if (timer instanceof LongTimer) timer.clear()
    else clearTimeout(timer as NodeJS.Timeout)
  },
})

/** The error for what is no number of milliseconds; undefined when it is one. `where` names the option. */
export function msError(ms: unknown, where: string): RuntimeError | undefined {
  if (typeof ms === 'number' && ms >= 0) return undefined
  return optionError(where, `${where}: expected milliseconds of 0 or more, got ${show(ms)}`)
}

/** Throws BAD_OPTION unless `ms` is a number of milliseconds. */
export function checkMs(ms: unknown, where: string): void {
  const wrong = msError(ms, where)
  if (wrong !== undefined) throw wrong
}

/** Node fires a longer timer at once, so a long wait is a chain of short ones. */
class LongTimer {
  #timer: NodeJS.Timeout | undefined

  constructor(fn: () => void, ms: number) {
    const step = (left: number): void => {
      this.#timer = left > longest ? setTimeout(step, longest, left - longest) : setTimeout(fn, left)
    }
    if (ms !== Number.POSITIVE_INFINITY) step(ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
