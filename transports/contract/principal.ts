import { createHash } from 'node:crypto'
import { isObject } from '../../protocol/wire/json.js'
import type { World } from '../../runtime/time/world.js'
import { show } from '../../runtime/base/errors.js'
import { type TransportError, optionError } from '../base/errors.js'

/** Who sends a request, as the host program or a token says; plain data. */
export interface Principal {
  /** Who vouches for it: the `iss` of a token, or your name for the source of accounts. */
  readonly issuer: string
  /** Who it is there: the `sub` of a token, or an account id. Sessions belong to issuer and subject. */
  readonly subject: string
  /** The client program. */
  readonly clientId?: string
  /** What it may do. */
  readonly scopes?: readonly string[]
  /** When it expires, in ms since 1970; afterwards it is refused with 401. */
  readonly expiresAt?: number
  /** Other facts, such as the claims of a token. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** The token that a user has at the identity provider. */
export interface Credentials {
  readonly accessToken: string
  /** When it expires, in ms since 1970; absent: it does not. */
  readonly expiresAt?: number
  /** What it may do; absent: the provider does not say. */
  readonly scopes?: readonly string[]
}

/** What a token of the provider has to be good for. */
export interface WantedCredentials {
  readonly scopes: readonly string[]
  /** The page that the user is at already: its end is waited for. */
  readonly visit: string | undefined
}

/** The page at which a user signs in at the provider for more. */
export interface CredentialsVisit {
  readonly id: string
  readonly url: string
  /** As pages call it. */
  readonly provider: string
}

/** A checked, frozen copy of a principal. Throws TransportError BAD_OPTION. */
export function readPrincipal(given: unknown): Principal {
  if (!isObject(given)) throw bad('principal', 'an object with issuer and subject', typeof given)
  const { issuer, subject, clientId, scopes, expiresAt, claims } = given
  const known = {
    issuer: readText('issuer', issuer),
    subject: readText('subject', subject),
    ...(clientId !== undefined && { clientId: readText('clientId', clientId) }),
    ...(scopes !== undefined && { scopes: readScopes(scopes) }),
    ...(expiresAt !== undefined && { expiresAt: readTime(expiresAt) }),
    ...(isObject(claims) && { claims }),
  }
  return Object.freeze(known)
}

/** Whether two are the same by issuer and subject; programs and scopes may differ. */
export function isSamePrincipal(one: Principal | undefined, other: Principal | undefined): boolean {
  return one?.issuer === other?.issuer && one?.subject === other?.subject
}

export function hasExpired(principal: Principal | undefined, { date }: Pick<World, 'date'>): boolean {
  return principal?.expiresAt !== undefined && principal.expiresAt <= date()
}

export function keyOfPrincipal({ issuer, subject }: Principal): string {
  return JSON.stringify([issuer, subject])
}

function readText(field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw bad(field, 'a non-empty string', typeof value)
}

function readScopes(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw bad('scopes', 'an array of non-empty strings', typeof value)
  return Object.freeze(value.map((scope) => readText('scopes', scope)))
}

function readTime(value: unknown): number {
  if (typeof value === 'number' && !Number.isNaN(value)) return value
  throw bad('expiresAt', 'milliseconds since 1970', show(value))
}

/** Names the type that came, and not the value: it may be a secret. */
function bad(field: string, expected: string, got: string): TransportError {
  const where = field === 'principal' ? field : `principal: ${field}`
  const message = `${where}: expected ${expected}, got ${got}`
  return optionError(field, message)
}

/** Claims of a token that say nothing of what it is good for, and may be others in the next one. */
const passing: ReadonlySet<string> = new Set([
  ...['exp', 'iat', 'nbf', 'jti', 'nonce', 'auth_time', 'sid', 'session_state', 'at_hash', 'c_hash', 'cnf'],
  // of Entra, Cognito, Clerk, and of introspection
  ...['uti', 'rh', 'aio', 'xms_ftd', 'origin_jti', 'event_id', 'fva', 'expires_in'],
])

/**
 * Who it is (OpenID Connect Core, section 5.1), as the provider of a login says: elsewhere they may be a
 * tenant.
 */
const profile: ReadonlySet<string> = new Set([
  ...['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'preferred_username', 'profile'],
  ...['picture', 'website', 'email', 'email_verified', 'gender', 'birthdate', 'zoneinfo', 'locale'],
  ...['phone_number', 'phone_number_verified', 'address', 'updated_at'],
  // the same of GitHub
  ...['avatar_url', 'bio', 'blog', 'company', 'location', 'hireable', 'twitter_username', 'followers'],
  ...['following', 'public_repos', 'public_gists', 'private_gists', 'total_private_repos'],
  ...['owned_private_repos', 'disk_usage', 'collaborators', 'notification_email'],
])

/**
 * What tells tokens of one person apart that may be good for different things: the program, the scopes, and a
 * digest of the claims, such as an organization. Tokens that are renewed have the same.
 */
export function rightsOf({ clientId = '', scopes = [], claims = {} }: Principal): string {
  const hasLogin = loginOf({ claims }) !== undefined
  const isLasting = (name: string): boolean =>
    !passing.has(name) && name !== loginClaim && !(hasLogin && profile.has(name))
  const lasting = Object.keys(claims).filter(isLasting)
  const text = JSON.stringify(
    Object.fromEntries(lasting.sort().map((name) => [name, claims[name]])),
    (_key, value: unknown) => {
      if (typeof value === 'bigint') return String(value)
      if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.toSorted()
      return isObject(value)
        ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
        : value
    },
  )
  const others = lasting.length === 0 ? '' : createHash('sha256').update(text).digest('base64url')
  return JSON.stringify([clientId, others, ...scopes.toSorted()])
}

const loginClaim = 'urn:caduceus:login'

/**
 * A claim that tells the logins of one user apart, as `signIn()` gives it: `sid` of a token is the
 * provider's.
 */
export function withLogin(login: string): Readonly<Record<string, string>> {
  return { [loginClaim]: login }
}

/** The login that a principal came by; undefined: by none of `signIn()`. */
export function loginOf({ claims }: Pick<Principal, 'claims'>): string | undefined {
  const login = claims?.[loginClaim]
  return typeof login === 'string' ? login : undefined
}
