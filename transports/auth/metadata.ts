import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthSettings } from './options.js'
import { pathOf } from '../base/target.js'

const wellKnown = '/.well-known/oauth-protected-resource'
const legacyWellKnown = '/.well-known/oauth-authorization-server'
const headers = Object.freeze({
  // public: pages of any web site may read it
  'access-control-allow-origin': '*',
  'cache-control': 'max-age=3600',
})

/** The paths: at the root, and before the server's, as clients and as we see it (RFC 9728, section 3.1). */
export function metadataPaths(auth: AuthSettings | undefined, path: string): readonly string[] {
  if (auth === undefined) return []
  const { pathname } = new URL(auth.metadataUrl)
  return [...new Set([wellKnown, pathname, path === '/' ? wellKnown : wellKnown + path])]
}

/** The published metadata: who issues tokens for this server (RFC 9728, section 2). */
export function metadataOf(auth: AuthSettings): Readonly<Record<string, unknown>> {
  const { resource, authorizationServers, scopesSupported, metadata, dpop } = auth
  return Object.freeze({
    resource,
    authorization_servers: authorizationServers,
    ...(scopesSupported.length > 0 && { scopes_supported: scopesSupported }),
    bearer_methods_supported: ['header'],
    ...(dpop !== undefined && { dpop_signing_alg_values_supported: dpop.settings.algorithms }),
    ...(dpop?.settings.required && { dpop_bound_access_tokens_required: true }),
    ...metadata,
  })
}

/**
 * Answers requests for the metadata, to any host and origin; false for every other path. Clients of
 * 2025-03-26 look for the authorization server at the origin of the MCP server: they are redirected to the
 * first one, unless other programs share that origin (`isShared`).
 */
export function answerMetadata(
  request: IncomingMessage,
  response: ServerResponse,
  { auth, path, isShared }: { readonly auth: AuthSettings | undefined; path: string; isShared: boolean },
): boolean {
  if (auth === undefined) return false
  const asked = pathOf(request.url)
  if (!asked.startsWith('/.well-known/')) return false
  if (metadataPaths(auth, path).includes(asked)) writeMetadata(request, response, auth)
  else if (asked === legacyWellKnown && !isShared && isElsewhere(auth)) sendOn(response, auth)
  else return false
  return true
}

export function writeMetadata(
  { method }: IncomingMessage,
  response: ServerResponse,
  auth: AuthSettings,
): void {
  if (method === 'OPTIONS') {
    const allowed = { 'access-control-allow-methods': 'GET', 'access-control-allow-headers': '*' }
    response.writeHead(204, { ...headers, ...allowed }).end()
  } else if (method === 'GET' || method === 'HEAD') {
    const text = JSON.stringify(metadataOf(auth))
    const length = String(Buffer.byteLength(text))
    response.writeHead(200, { ...headers, 'content-type': 'application/json', 'content-length': length })
    response.end(method === 'HEAD' ? undefined : text)
  } else {
    response.writeHead(405, { allow: 'GET, HEAD, OPTIONS', 'content-length': '0' }).end()
  }
}

function isElsewhere({ authorizationServers: [issuer = ''], resource }: AuthSettings): boolean {
  return new URL(issuer).origin !== new URL(resource).origin
}

function sendOn(response: ServerResponse, { authorizationServers: [issuer = ''] }: AuthSettings): void {
  const { origin, pathname } = new URL(issuer)
  const location = `${origin}${legacyWellKnown}${pathname.replace(/\/$/, '')}`
  response.writeHead(302, { ...headers, location, 'content-length': '0' }).end()
}
