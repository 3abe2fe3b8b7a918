import type { IncomingMessage, ServerResponse } from 'node:http'
import { bindTo, type OwnerToken } from '../runtime/containment.js'

/**
 * Calls `fn` when the response is with the client or the client has gone, in the scope of an owner; more than once, perhaps. A response that waits behind others
 * of its connection hears of nothing while it has no socket (Node 20): then the connection itself tells.
 */
export function whenClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  token: OwnerToken,
  fn: () => void,
): void {
  response.on('close', fn)
  if (response.destroyed) return fn()
  if (response.socket !== null) return
  const gone = bindTo(token, fn)
  socket.once('close', gone)
  response.once('close', () => void socket.off('close', gone))
}
