import { checkMs, type Clock } from './clock.js'
import { badOption } from '../base/check.js'

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves time and fires due timers in order; actors react to each in turn. Rejects with BAD_OPTION. */
  advance(ms: number): Promise<void>
  /** How many timers wait. */
  readonly pending: number
}

/** A clock for tests from `start` ms. It is exact: what is due in `ms` has fired after `advance(ms)`. */
export function createFakeClock(start = 0): FakeClock {
  let now = start
  let order = 0
  const timers = new Map<number, { at: number; fn: () => void }>()
  return {
    grain: 0,
    now: () => now,
    setTimeout(fn, ms) {
      timers.set(++order, { at: now + Math.max(0, ms), fn })
      return order
    },
    clearTimeout(timer) {
      timers.delete(timer as number)
    },
    get pending() {
      return timers.size
    },
    async advance(ms) {
      checkMs(ms, 'advance')
      if (ms === Number.POSITIVE_INFINITY) throw badOption('advance', 'a finite number of milliseconds', ms)
      const end = now + ms
      await settle()
      for (let next = earliest(timers, end); next !== undefined; next = earliest(timers, end)) {
        const timer = timers.get(next)
        timers.delete(next)
        if (timer === undefined) continue
        now = Math.max(now, timer.at)
        timer.fn()
        await settle()
      }
      now = end
    },
  }
}

function earliest(timers: Map<number, { at: number }>, end: number): number | undefined {
  let found: number | undefined
  let at = end
  for (const [id, timer] of timers) {
    if (timer.at < at || (timer.at === at && found === undefined)) {
      found = id
      at = timer.at
    }
  }
  return found
}

/** Two turns: actors drain in microtasks, and go on in setImmediate when a turn is spent. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
}
