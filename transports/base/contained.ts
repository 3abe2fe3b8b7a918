import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/**
 * A listener for requests of whoever can connect: what `handle` throws, or rejects with, costs that request
 * alone. It is answered 500, or cut where an answer has begun, and `report` is told.
 */
export function contained(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  report: (error: unknown) => void,
): RequestListener {
  return (request, response) => {
    const fail = (error: unknown): void => {
      if (response.headersSent) response.destroy()
      else response.writeHead(500, { 'content-length': '0', connection: 'close' }).end()
      report(error)
    }
    try {
      const handled = handle(request, response)
      if (handled instanceof Promise) handled.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}
