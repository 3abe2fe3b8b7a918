import type { IncomingMessage, RequestListener } from 'node:http'

/** Requests of one connection whose answers are due: clients wait for an answer before they ask again. */
export const maxPipelined = 32

/**
 * Cuts a connection that asks for more before it is answered. What is pipelined (RFC 9112, section 9.3.2) comes in
 * one turn of the event loop, hundreds of requests with each read, and refusals take their time, too.
 */
export function boundPipelined(onRequest: RequestListener): RequestListener {
  const due = new WeakMap<IncomingMessage['socket'], number>()
  return (request, response) => {
    const { socket } = request
    // its parser goes on to the end of what was read
    if (socket.destroyed) return
    const count = (due.get(socket) ?? 0) + 1
    if (count > maxPipelined) return void socket.destroy()
    due.set(socket, count)
    response.once('close', () => due.set(socket, (due.get(socket) ?? 1) - 1))
    onRequest(request, response)
  }
}
