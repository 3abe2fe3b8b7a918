import type { Duplex } from 'node:stream'
import { challengeOf } from '../../auth/challenge.js'
import type { AuthSettings } from '../../auth/options.js'
import type { HttpServer } from './options.js'

/**
 * Answers requests whose headers are longer than Node reads (16 KiB in all) as what they are to a listener
 * with `auth`: without a token that could be checked (401), and no more of them is read. Only for a server of
 * our own.
 */
export function refuseLongHeaders(server: HttpServer, auth: AuthSettings | undefined): void {
  if (auth === undefined) return
  const { emit } = server
  const told = { error: 'invalid_token', description: 'the headers are too long' } as const
  const challenge = challengeOf({ ...told, scopes: auth.scopes }, auth)
  const lines = ['HTTP/1.1 401 Unauthorized', `www-authenticate: ${challenge}`, 'content-length: 0']
  const answer = `${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`
  // not a listener: with one, Node would leave all other errors to it as well
  server.emit = (event: string | symbol, ...args: unknown[]) => {
    const [error, socket] = args as [{ readonly code?: unknown } | undefined, Duplex]
    if (event !== 'clientError' || error?.code !== 'HPE_HEADER_OVERFLOW')
      return Reflect.apply(emit, server, [event, ...args])
    if (socket.writable && !isAnswering(socket)) socket.end(answer, () => socket.destroy())
    else socket.destroy()
    return true
  }
}

/**
 * Whether an answer to an earlier request has begun, which must not be written into (as Node itself does it).
 */
function isAnswering(socket: Duplex): boolean {
  const { _httpMessage: answer } = socket as { _httpMessage?: { readonly _headerSent?: boolean } | null }
  return answer?._headerSent === true
}
