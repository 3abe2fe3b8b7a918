import { type RuntimeError, show, optionError } from '../base/errors.js'

/** The clock of a tree, in ms and monotonic; give it a fake one to test without waiting. */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number
  /** Runs `fn` once after `ms` milliseconds; delays beyond 2^31 - 1 work. */
  setTimeout(fn: () => void, ms: number): unknown
  /** Cancels a timer; harmless when it has already run. */
  clearTimeout(timer: unknown): void
  /** Milliseconds by which call deadlines may be late, so that a tree needs only one timer. Default 0. */
  readonly grain?: number
}

const longest = 2 ** 31 - 1

/** `performance.now()` and Node's timers, without their limit of 24.8 days. Its grain is 16 ms. */
export const systemClock: Clock = Object.freeze({
  grain: 16,
  now: () => performance.now(),
  setTimeout: (fn: () => void, ms: number) => (ms > longest ? new LongTimer(fn, ms) : setTimeout(fn, ms)),
  clearTimeout: (timer: unknown) => {
    if (timer instanceof LongTimer) timer.clear()
    else clearTimeout(timer as NodeJS.Timeout)
  },
})

export function msError(ms: unknown, where: string): RuntimeError | undefined {
  if (typeof ms === 'number' && ms >= 0) return undefined
  return optionError(where, `${where}: expected milliseconds of 0 or more, got ${show(ms)}`)
}

export function checkMs(ms: unknown, where: string): void {
  const wrong = msError(ms, where)
  if (wrong !== undefined) throw wrong
}

/** Chains short timers: Node fires longer ones at once. */
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
