import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Calls `fn` when the response is with the client or the client has gone; more than once, perhaps. A response
 * that waits behind others of its connection hears of nothing while it has no socket (Node 20): then the
 * connection itself tells, and what it calls is made by `bind`, in the scope of an owner.
 */
export function whenClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  bind: (fn: () => void) => () => void,
  fn: () => void,
): void {
  response.on('close', fn)
  if (response.destroyed) return fn()
  if (response.socket !== null) return
  if (socket.destroyed) return fn()
  const gone = bind(fn)
  // as many as the client sends ahead: without this Node would warn of a leak
  socket.setMaxListeners(0)
  socket.once('close', gone)
  response.once('close', () => void socket.off('close', gone))
}
