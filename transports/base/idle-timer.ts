import type { Clock } from '../../runtime/time/clock.js'

/** A timer that is put off as long as something happens. */
export interface IdleTimer {
  restart(): void
  stop(): void
}

/**
 * Aborts the controller after `ms` without a `restart`; Infinity: never. It does not run before the first
 * one.
 */
export function idleTimer(ms: number, clock: Clock, controller: AbortController): IdleTimer {
  let timer: unknown
  const stop = (): void => clock.clearTimeout(timer)
  const restart = (): void => {
    stop()
    if (Number.isFinite(ms)) timer = clock.setTimeout(() => controller.abort(), ms)
  }
  return { restart, stop }
}
