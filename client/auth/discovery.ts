import type { JsonObject } from '../../protocol/wire/json.js'
import { isSecureUrl } from '../../transports/base/secure-url.js'
import { urlAt } from '../../transports/base/target.js'
import { isPassing } from '../../transports/http/client/errors.js'
import type { SafeAnswer } from '../../transports/http/outgoing/fetch.js'
import { type Asker, objectOf } from './ask.js'
import { authFailed, quotable } from './failure.js'
import { ClientError } from '../base/errors.js'

/** The metadata of an authorization server (RFC 8414); used fields are checked. */
export interface ServerMetadata {
  readonly issuer: string
  readonly token_endpoint: string
  readonly authorization_endpoint?: string
  readonly registration_endpoint?: string
  readonly [field: string]: unknown
}

export interface Discovered {
  readonly metadata: ServerMetadata
  /** Undefined in 2025-03-26, which has no such metadata. */
  readonly resource: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly resourceMetadata: string | undefined
  /** What the resource says of tokens that are bound to a key (RFC 9728, section 2). */
  readonly binding?: { readonly required: boolean; readonly algorithms: unknown }
}

/**
 * Finds a resource's authorization server (specification: authorization, discovery), by the resource's
 * metadata. The server's `issuer` must equal the one asked for. Without metadata, as in 2025-03-26, the
 * server itself is asked. Rejects with AUTHORIZATION_FAILED, retryable where a server was out of order.
 */
export async function discover(ask: Asker, server: URL, hint: string | undefined): Promise<Discovered> {
  const found = await findResource(ask, server, hint)
  if (found === undefined) return discoverOld(ask, server)
  const { document, place } = found
  const { resource, authorization_servers: issuers } = document
  if (typeof resource !== 'string' || !covers(resource, server))
    throw authFailed(
      `${place} is metadata of ${quotable(resource)}, not of ${server.origin}${server.pathname}`,
    )
  const issuer = Array.isArray(issuers) ? (issuers[0] as unknown) : server.origin
  if (typeof issuer !== 'string' || !isSecureUrl(issuer))
    throw authFailed(`${place}: authorization_servers: expected https addresses`)
  const metadata = await findServer(ask, issuer)
  if (metadata === undefined)
    throw authFailed(`${quotable(issuer)} has no metadata of an authorization server`, { status: 404 })
  const { scopes_supported: scopes, dpop_bound_access_tokens_required: required } = document
  const binding = { required: required === true, algorithms: document.dpop_signing_alg_values_supported }
  return { metadata, resource, scopes: listOf(scopes), resourceMetadata: place, binding }
}

async function findResource(ask: Asker, server: URL, hint: string | undefined) {
  const places = resourceMetadataUrls(server).map(({ href }) => href)
  for (const place of new Set(hint === undefined ? places : [hint, ...places])) {
    const answer = await ask.get(place)
    if (isThere(answer, place)) return { document: objectOf(answer, place), place }
  }
  return undefined
}

/** As of 2025-03-26: the origin, with endpoints in fixed places where it has no metadata. */
async function discoverOld(ask: Asker, { origin }: URL): Promise<Discovered> {
  const metadata = (await findServer(ask, origin)) ?? {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  }
  return {
    metadata,
    resource: undefined,
    scopes: listOf(metadata.scopes_supported),
    resourceMetadata: undefined,
  }
}

async function findServer(ask: Asker, issuer: string): Promise<ServerMetadata | undefined> {
  for (const { href } of serverMetadataUrls(new URL(issuer))) {
    const answer = await ask.get(href)
    if (isThere(answer, href)) return checked(objectOf(answer, href), issuer, href)
  }
  return undefined
}

function checked(document: JsonObject, issuer: string, place: string): ServerMetadata {
  if (document.issuer !== issuer)
    throw authFailed(`${place} is metadata of ${quotable(document.issuer)}, not of ${quotable(issuer)}`)
  const {
    token_endpoint: token,
    authorization_endpoint: authorization,
    registration_endpoint: registration,
  } = document
  const wrong = [token ?? '', authorization, registration].find(
    (endpoint) => endpoint !== undefined && !(typeof endpoint === 'string' && isSecureUrl(endpoint)),
  )
  if (wrong === undefined) return document as ServerMetadata
  throw authFailed(`${place}: endpoints: expected https addresses, got ${quotable(wrong) || 'none'}`)
}

/** A server that is out of order does not say that there is none. */
function isThere({ status, headers }: SafeAnswer, place: string): boolean {
  if (status === 200) return true
  if (!isPassing(status)) return false
  throw new ClientError('AUTHORIZATION_FAILED', `${place} answers with status ${status}`, {
    retryable: true,
    data: { status, retryAfter: headers['retry-after'], sent: false },
  })
}

function listOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : undefined
}

/** In order (RFC 9728, section 3.1): with its path, then at the root. */
export function resourceMetadataUrls(server: URL): readonly URL[] {
  const wellKnown = '/.well-known/oauth-protected-resource'
  const path = server.pathname === '/' ? '' : server.pathname.replace(/\/$/, '')
  return [...new Set([wellKnown + path, wellKnown])].map((place) => urlAt(server.origin, place))
}

/** In order (specification: authorization, discovery): RFC 8414, OpenID. */
export function serverMetadataUrls(issuer: URL): readonly URL[] {
  const path = issuer.pathname.replace(/\/$/, '')
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  const places = new Set([oauth + path, openid + path, path + openid])
  return [...places].map((place) => urlAt(issuer.origin, place))
}

/** Without query and fragment (RFC 8707, section 2). */
export function resourceOf(server: URL): string {
  return server.pathname === '/' ? server.origin : server.origin + server.pathname
}

/** Whether a resource is this server or one above it. */
export function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const { origin, pathname } = new URL(resource)
  const folder = pathname.endsWith('/') ? pathname : `${pathname}/`
  return origin === server.origin && `${server.pathname}/`.startsWith(folder)
}
