import type { IncomingMessage } from 'node:http'

const maxAgeSeconds = 600
const allowed =
  /^(?:accept|authorization|content-type|dpop|last-event-id|mcp-(?:protocol-version|session-id|method|name|param-[a-z0-9-]+))$/

/** What a page of an allowed origin may read of every answer. */
export function corsHeaders(origin: string): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce, Retry-After',
    vary: 'Origin',
  }
}

/** Whether a browser asks what it may send before it does. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  const { origin, 'access-control-request-method': wanted } = headers
  return method === 'OPTIONS' && origin !== undefined && wanted !== undefined
}

/** What a page of an allowed origin may send: those headers it asks for that MCP has a use for. */
export function preflightHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const wanted = String(headers['access-control-request-headers'] ?? '').toLowerCase()
  const names = wanted.split(',').map((name) => name.trim())
  return {
    'access-control-allow-methods': 'POST, GET, DELETE',
    'access-control-allow-headers': names.filter((name) => allowed.test(name)).join(', '),
    'access-control-max-age': String(maxAgeSeconds),
    vary: 'Origin, Access-Control-Request-Headers',
    ...(headers['access-control-request-private-network'] !== undefined && {
      'access-control-allow-private-network': 'true',
    }),
  }
}
