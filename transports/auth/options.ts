import { isObject } from '../../protocol/wire/json.js'
import type { DPoPOptions, ProofGate } from './dpop.js'
import { type ImpliedScopes, isScope } from './scopes.js'
import { readSecureUrl } from '../base/secure-url.js'
import { OwnServer, type OwnServerParts } from './own-server.js'
import type { TokenVerifier } from './tokens.js'
import { badOption, orElse, type Read, readOptions, type ReadWith } from '../base/read-option.js'

/** Makes a listener an OAuth 2.1 resource server (specification: authorization). */
export interface AuthOptions {
  /**
   * The name of this server in tokens: the address of its endpoint as clients write it, such as
   * `https://mcp.example.com/mcp` (RFC 8707). https, or http on this machine.
   */
  readonly resource: string
  /** The issuers of tokens that clients are sent to (RFC 9728): one or more. */
  readonly authorizationServers: readonly string[]
  /** Checks tokens. Default: `jwt({ issuer })` of the authorization server, where there is only one. */
  readonly verify?: TokenVerifier
  /**
   * Takes tokens that are bound to a key, with proofs of it (RFC 9449; DPoP profile of MCP). Default: they are
   * refused.
   */
  readonly dpop?: boolean | DPoPOptions
  /** Scopes that every request needs; components may need more (`scopes` of `defineTool`). Default none. */
  readonly scopes?: readonly string[]
  /** The scopes that a client asks for first: as few as possible. Default: `scopes`. */
  readonly scopesSupported?: readonly string[]
  /** Scopes that stand for others as well, such as `{ admin: ['read', 'write'] }`. Default none. */
  readonly impliedScopes?: ImpliedScopes
  /** More published metadata, such as `resource_name` and `resource_documentation` (RFC 9728, 2). */
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface AuthSettings extends Required<Omit<AuthOptions, 'dpop'>> {
  /** The authorization server that this listener itself is. */
  readonly own: OwnServerParts | undefined
  readonly dpop: ProofGate | undefined
  /** Loads what checks need; awaited before a listener accepts. */
  readonly prepare: () => Promise<unknown>
  /** Where clients find the metadata. */
  readonly metadataUrl: string
  /** Scopes that a client without a token is told to ask for. */
  readonly firstScopes: readonly string[]
}

/** Fields of the metadata that have options of their own. */
const ownMetadata: readonly string[] = [
  'resource',
  'authorization_servers',
  'scopes_supported',
  'bearer_methods_supported',
  'dpop_signing_alg_values_supported',
  'dpop_bound_access_tokens_required',
]

/**
 * Reads `auth` where the program brings the check of tokens, or `signIn()`, and none are bound to keys.
 * Throws BAD_OPTION.
 */
export function readVerifiedAuth(options: unknown): AuthSettings {
  if (options instanceof OwnServer) {
    const own = OwnServer.parts(options)
    if (own.dpop === undefined) return ownSettings(own, undefined)
    throw badOption('auth', 'signIn() without dpop: mount() has it', 'dpop: true')
  }
  if (isObject(options) && options.dpop !== undefined)
    throw badOption('auth.dpop', 'nothing: mount() has it', options.dpop)
  checkNoProvider(options)
  const read = readOptions(options, authReaders, 'auth')
  const { verify } = read
  if (verify === undefined)
    throw badOption('auth.verify', 'what jwt({ issuer }) or introspection() returns, or a function', verify)
  return authSettings({ ...read, verify, dpop: undefined })
}

/** What `github()` and its like return says who users are: `signIn` makes tokens of that. */
export function checkNoProvider(options: unknown): void {
  if (isObject(options) && typeof options.name === 'string' && !('resource' in options))
    throw badOption('auth', 'of a provider signIn({ with: github(...), resource })', options)
}

type ReadAuth = Omit<ReadWith<typeof authReaders>, 'verify'> & Pick<AuthSettings, 'verify' | 'dpop'>

/** The settings of a listener that trusts other authorization servers. */
export function authSettings({ scopesSupported, verify, dpop, ...read }: ReadAuth): AuthSettings {
  return Object.freeze({
    ...read,
    own: undefined,
    verify,
    dpop,
    prepare: () => Promise.all([verify.prepare?.(), dpop?.prepare()]),
    scopesSupported: scopesSupported ?? read.scopes,
    firstScopes: read.scopes,
    metadataUrl: metadataUrlOf(read.resource),
  })
}

/** The settings of a listener that is an authorization server for itself. */
export function ownSettings(own: OwnServerParts, dpop: ProofGate | undefined): AuthSettings {
  const { resource, issuer, scopes, furtherScopes, verify } = own
  const all = [...scopes, ...furtherScopes]
  return Object.freeze({
    ...{ own, resource, verify, scopesSupported: all, authorizationServers: [issuer] },
    ...{ dpop, scopes, firstScopes: all, impliedScopes: {}, metadata: {} },
    prepare: () => Promise.all([verify.prepare?.(), dpop?.prepare()]),
    metadataUrl: metadataUrlOf(resource),
  })
}

/** RFC 9728, section 3.1: between the host and the path of the resource. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname, search } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}${search}`
}

const readVerifier: Read<TokenVerifier> = (value, field) => {
  if (typeof value === 'function') return value as TokenVerifier
  throw badOption(field, 'what jwt() or introspection() returns, or a function', value)
}

const readIssuers: Read<readonly string[]> = (value, field) => {
  if (!Array.isArray(value) || value.length === 0)
    throw badOption(field, 'an array of one issuer or more', value)
  return Object.freeze(value.map((issuer) => readSecureUrl(issuer, field)))
}

const readScopes: Read<readonly string[]> = (value, field) => {
  if (!Array.isArray(value) || !value.every(isScope)) throw badOption(field, 'an array of scopes', value)
  // it concerns the client and the authorization server (specification 2026-07-28: authorization)
  if (value.includes('offline_access'))
    throw badOption(field, 'scopes of this server, which offline_access is not', 'offline_access')
  return Object.freeze([...new Set(value)])
}

const readImplied: Read<ImpliedScopes> = (value, field) => {
  if (!isObject(value)) throw badOption(field, 'an object of arrays of scopes', value)
  const read: Record<string, readonly string[]> = {}
  for (const [scope, others] of Object.entries(value)) read[scope] = readScopes(others, `${field}.${scope}`)
  return Object.freeze(read)
}

const readMetadata: Read<Readonly<Record<string, unknown>>> = (value, field) => {
  if (!isObject(value)) throw badOption(field, 'an object', value)
  const taken = Object.keys(value).find((name) => ownMetadata.includes(name))
  if (taken !== undefined) throw badOption(field, 'nothing that an option of its own says', taken)
  return Object.freeze({ ...value })
}

export const authReaders = {
  resource: readSecureUrl,
  authorizationServers: readIssuers,
  verify: orElse(readVerifier, undefined),
  scopes: orElse(readScopes, []),
  scopesSupported: orElse(readScopes, undefined),
  impliedScopes: orElse(readImplied, {}),
  metadata: orElse(readMetadata, {}),
}
