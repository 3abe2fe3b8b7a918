import type { IncomingMessage, ServerResponse } from 'node:http'
import { pathOf } from '../../base/path.js'

/**
 * Answers `/healthz` and `/readyz`, which whoever watches the process asks by an address of its own choice:
 * they say nothing of the server but that, so no host is refused. False for every other path.
 */
export function answerHealth(
  { url, method }: IncomingMessage,
  response: ServerResponse,
  isReady: boolean,
): boolean {
  const path = pathOf(url)
  if (path !== '/healthz' && path !== '/readyz') return false
  const [status, text] = answerTo(path, method, isReady)
  const headers = {
    'content-type': 'text/plain',
    'content-length': String(text.length),
    'cache-control': 'no-store',
  }
  const more = status === 405 ? { allow: 'GET, HEAD' } : status === 503 ? { connection: 'close' } : {}
  response.writeHead(status, { ...headers, ...more }).end(method === 'HEAD' ? undefined : text)
  return true
}

function answerTo(path: string, method: string | undefined, isReady: boolean): [number, string] {
  if (method !== 'GET' && method !== 'HEAD') return [405, 'expected GET\n']
  if (path === '/healthz' || isReady) return [200, 'ok\n']
  return [503, 'not ready\n']
}
