import type { JsonObject } from '../../protocol/wire/json.js'
import { isSecureUrl } from '../../transports/base/secure-url.js'
import type { SafeAnswer } from '../../transports/http/outgoing/fetch.js'
import { covers, resourceMetadataUrls, serverMetadataUrls } from './addresses.js'
import { type Asker, objectOf } from './ask.js'
import { authFailed, quotable } from './failure.js'
import { ClientError } from '../base/errors.js'

/** The metadata of an authorization server (RFC 8414), what we use of it checked. */
export interface ServerMetadata {
  readonly issuer: string
  readonly token_endpoint: string
  readonly authorization_endpoint?: string
  readonly registration_endpoint?: string
  readonly [field: string]: unknown
}

/** Who gives tokens for a server, and for what. */
export interface Discovered {
  readonly metadata: ServerMetadata
  /** What tokens have to be for; undefined for a server of 2025-03-26, which has no metadata of its own. */
  readonly resource: string | undefined
  readonly scopes: readonly string[] | undefined
  /** Where the metadata of the resource was found. */
  readonly resourceMetadata: string | undefined
}

/**
 * Finds out who gives tokens for a server (specification: authorization, discovery): its metadata where the
 * challenge says, or at the well-known places; those of its authorization server, whose `issuer` has to be
 * the one asked for, character by character. Without either, as in 2025-03-26, the server itself is asked.
 * Rejects with AUTHORIZATION_FAILED, retryable where a server was out of order.
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
    throw authFailed(`${quotable(issuer)} has no metadata of an authorization server`)
  return { metadata, resource, scopes: listOf(document.scopes_supported), resourceMetadata: place }
}

async function findResource(ask: Asker, server: URL, hint: string | undefined) {
  const places = resourceMetadataUrls(server).map(({ href }) => href)
  for (const place of new Set(hint === undefined ? places : [hint, ...places])) {
    const answer = await ask.get(place)
    if (isThere(answer, place)) return { document: objectOf(answer, place), place }
  }
  return undefined
}

/**
 * The specification of 2025-03-26: the server's own origin, and endpoints in fixed places where it has no
 * metadata.
 */
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

/** The metadata of an issuer; undefined when there are none. */
export async function findServer(ask: Asker, issuer: string): Promise<ServerMetadata | undefined> {
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

/** A server that is out of order is no server without metadata. */
function isThere({ status }: SafeAnswer, place: string): boolean {
  if (status === 200) return true
  if (status < 500 && status !== 429) return false
  throw new ClientError('AUTHORIZATION_FAILED', `${place} answers with status ${status}`, {
    retryable: true,
    data: { status, sent: false },
  })
}

function listOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : undefined
}
