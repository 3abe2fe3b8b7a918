import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** undici shares its timers among all clients of a process: those of one run must not reach the next. */
export function resetTimers(): void {
  const timers = require('undici/lib/util/timers.js') as { reset(): void }
  timers.reset()
}
