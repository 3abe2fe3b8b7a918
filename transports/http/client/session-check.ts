import { buildRequest } from '../../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../../runtime/time/clock.js'
import { discard, type HttpResponse } from '../outgoing/dispatcher.js'

/** Milliseconds that a server may take to say whether it knows us. */
const checkTime = 10_000

/**
 * Finds out what a 400 within a session means. A server that has forgotten a session has to say 404
 * (specification: transports, session management), but many say 400, as an example of the official SDK does;
 * and 400 is also what a single bad request gets. A ping cannot be a bad one: only where it is refused, too,
 * the session is gone. The returned function asks once for all that want to know at the same time, and never
 * rejects.
 */
export function createSessionCheck(
  post: (text: string, signal: AbortSignal) => Promise<HttpResponse>,
  clock: Clock,
): () => Promise<boolean> {
  let asked = 0
  let asking: Promise<boolean> | undefined
  const ask = async (): Promise<boolean> => {
    const controller = new AbortController()
    const timer = clock.setTimeout(() => controller.abort(), checkTime)
    asked += 1
    try {
      const ping = JSON.stringify(buildRequest(`session-check-${asked}`, 'ping'))
      const response = await post(ping, controller.signal)
      discard(response, clock)
      return response.status !== 400 && response.status !== 404
    } catch {
      return true // nothing is known of it as long as nobody answers
    } finally {
      clock.clearTimeout(timer)
      asking = undefined
    }
  }
  return () => {
    asking ??= ask()
    return asking
  }
}
