import type { Clock } from '../../../runtime/time/clock.js'
import { TransportError } from '../../base/errors.js'

/**
 * Aborts a request whose response has not begun after `ms`; Infinity: never. The error is retryable, and says
 * which option it was.
 */
export function inTime<T>(
  response: Promise<T>,
  ms: number,
  clock: Clock,
  controller: AbortController,
): Promise<T> {
  if (!Number.isFinite(ms)) return response
  const message = `the response has not begun within ${ms} ms (headersTimeout)`
  const late = (): void =>
    controller.abort(new TransportError('CONNECTION_LOST', message, { retryable: true }))
  const timer = clock.setTimeout(late, ms)
  return response.finally(() => clock.clearTimeout(timer))
}
