import { IncomingMessage } from 'node:http'
import { type AssignedRequest, assignsKey, principalKey } from '../listen/peer.js'
import type { MountedRequest } from './mount.js'
import { readPrincipal } from '../../contract/principal.js'

/**
 * A request that can be read from its beginning, whatever a parser has read of it, with what middleware knows
 * of it. Its path becomes `path`: which one it was has been for the framework to judge.
 */
export function withKnown(
  request: IncomingMessage,
  path: string,
  { body, assigns, principal }: MountedRequest,
): IncomingMessage {
  const wasRead = request.readableDidRead || request.readableEnded
  const readable: AssignedRequest = wasRead && body !== undefined ? repeat(request, bytesOf(body)) : request
  const { url = '' } = request
  const at = url.indexOf('?')
  readable.url = at === -1 ? path : `${path}${url.slice(at)}`
  if (assigns !== undefined) readable[assignsKey] = assigns
  if (principal !== undefined) readable[principalKey] = readPrincipal(principal)
  return readable
}

/** The same request once more, with this body. */
function repeat(request: IncomingMessage, body: Buffer): IncomingMessage {
  const again = new IncomingMessage(request.socket)
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

function bytesOf(body: unknown): Buffer {
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''))
}
