import type { Clock } from '../../runtime/time/clock.js'

/** Resolves after `ms`, or as soon as one of the signals aborts. */
export function pause(
  ms: number,
  clock: Clock,
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimeout(timer)
      for (const signal of signals) signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimeout(end, ms)
    for (const signal of signals) signal?.addEventListener('abort', end, { once: true })
    if (signals.some((signal) => signal?.aborted)) end()
  })
}
