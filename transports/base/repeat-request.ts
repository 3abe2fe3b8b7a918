import type { IncomingMessage } from 'node:http'

/** The same request once more, with this body. */
export function repeatRequest(request: IncomingMessage, body: Buffer): IncomingMessage {
  const { IncomingMessage: Request } = process.getBuiltinModule('node:http')
  const again = new Request(request.socket)
  again.method = request.method ?? ''
  again.url = request.url ?? ''
  again.httpVersion = request.httpVersion
  again.headers = { ...request.headers, 'content-length': String(body.length) }
  again.rawHeaders = request.rawHeaders
  again.complete = true
  again.push(body)
  again.push(null)
  return again
}
