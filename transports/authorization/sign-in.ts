import { isObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import type { World } from '../../runtime/time/world.js'
import { OwnServer } from '../auth/own-server.js'
import { isScope } from '../auth/scopes.js'
import { optionError, TransportError } from '../base/errors.js'
import {
  badOption,
  orElse,
  type Read,
  readCount,
  readFlag,
  readGroup,
  readMs,
  readOptions,
  readText,
} from '../base/read-option.js'
import { readSecureUrl } from '../base/secure-url.js'
import type { Values } from '../contract/values.js'
import { isOwnPath } from './paths.js'
import { IdentityProvider, type SignedInUser } from './provider.js'
import type { SignInLimits } from './rate-limits.js'
import { baseScope } from './scopes.js'
import type { AuthorizationServer } from './server.js'

const loadServer = /* @__PURE__ */ lazy(
  '../../transports/authorization/server.js',
  () => import('./server.js'),
)

const loadFetched = /* @__PURE__ */ lazy(
  '../../transports/authorization/fetched.js',
  () => import('./fetched.js'),
)

/** Options of `signIn()`. */
export interface SignInOptions {
  /** Where users sign in: what `github()`, `oidc()` or `oauth2()` returns. */
  readonly with: IdentityProvider
  /**
   * The address of this server as clients write it, such as `https://mcp.example.com/mcp` (RFC 8707). Clients
   * are sent to its origin, which has to lead here. https, or http on this machine.
   */
  readonly resource: string
  /** What the pages call this server. Default: the host of `resource`. */
  readonly name?: string
  /** The scopes that users may grant to clients, and what the page says of each. Default: none. */
  readonly scopes?: Readonly<Record<string, string>>
  /** Which of the scopes a user may grant. Default: all. */
  readonly scopesOf?: (user: SignedInUser) => readonly string[] | Promise<readonly string[]>
  /** Who may come in at all; asked at each login. Default: all whom the provider signs in. */
  readonly allow?: (user: SignedInUser) => boolean | Promise<boolean>
  /**
   * Whether clients that prove a key get tokens that are good with it alone (RFC 9449). Others get bearer
   * tokens. Default false: a challenge of two schemes is more than some hosts read.
   */
  readonly dpop?: boolean
  readonly lifetimes?: SignInLifetimes
  /** Of one network; more are answered 429. */
  readonly limits?: SignInLimits
}

/** How long what a client gets is good for, in milliseconds. */
export interface SignInLifetimes {
  /** Of an access token. Default one hour. */
  readonly accessToken?: number
  /** Of a refresh token that is not used; each use gives a new one. Default 30 days. */
  readonly refreshToken?: number
  /**
   * In which a browser that has signed in is not sent to the provider again, and its user not asked again for a
   * client on the web. Default 8 hours.
   */
  readonly login?: number
}

export interface SignInSettings
  extends Required<Omit<SignInOptions, 'lifetimes' | 'limits' | 'scopesOf' | 'allow'>> {
  readonly issuer: string
  readonly scopesOf: SignInOptions['scopesOf']
  readonly allow: SignInOptions['allow']
  readonly lifetimes: Required<SignInLifetimes>
  readonly limits: Required<SignInLimits>
}

/**
 * For the option `auth` of `serveHttp` and `mount`: this server is an OAuth 2.1 authorization server for itself,
 * at which any client may register (RFC 7591), and whose users sign in at an identity provider at which clients
 * cannot. Needs the package `oidc-provider`, and an engine that keeps values: all but `sealed()` and
 * `records({ shared: true })`. Tools see who
 * calls as `ctx.principal`. Throws TransportError BAD_OPTION.
 */
export function signIn(options: SignInOptions): OwnServer {
  const read = readOptions(options, readers, 'signIn')
  const { origin, host, pathname: mcpPath } = new URL(read.resource)
  const settings: SignInSettings = Object.freeze({
    ...read,
    issuer: origin,
    name: read.name ?? host,
  })
  let server: AuthorizationServer | undefined
  let openedWith: Values | undefined
  const opened = (): AuthorizationServer => {
    if (server !== undefined) return server
    throw new TransportError('AUTHORIZATION_UNAVAILABLE', 'the server is starting', { retryable: true })
  }
  return new OwnServer({
    resource: read.resource,
    issuer: origin,
    scopes: Object.freeze([baseScope]),
    furtherScopes: Object.freeze(Object.keys(settings.scopes)),
    // a proof is good once, at whichever node
    dpop: settings.dpop ? { seen: (proof) => opened().hasSeen(proof), window: proofTime } : undefined,
    verify: Object.assign((token: string) => opened().principalOf(token), { prepare: loadServer }),
    async open(values: Values | undefined, world: World) {
      if (values === undefined)
        throw optionError(
          'engine',
          'signIn: engine: expected one that keeps logins, which sealed() and records({ shared: true }) do not',
        )
      // a listener that starts again goes on with what it had, also while the engine is away
      if (openedWith === values) return
      const { openServer } = await loadServer()
      server = await openServer(settings, values, world)
      openedWith = values
    },
    has: (path) => isOwnPath(path, mcpPath),
    take(request, response, address) {
      if (server !== undefined) void server.answer(request, response, address)
      else response.writeHead(503, { 'retry-after': '1', 'content-length': '0' }).end()
    },
    fetched: async (exchange) => (await loadFetched()).pageExchange(exchange),
    credentials: (principal, wanted, signal) => opened().credentials(principal, wanted, signal),
    signOut: (principal) => opened().signOut(principal),
    shows: (principal, request, response, path) => opened().shows(principal, request, response, path),
    isSignedIn: async (principal) => opened().isSignedIn(principal),
  })
}

const readProvider: Read<IdentityProvider> = (value, field) => {
  if (value instanceof IdentityProvider) return value
  throw badOption(field, 'what github(), oidc() or oauth2() returns', value)
}

/** Milliseconds that a proof is good for: each is kept for twice as long. */
const proofTime = 60_000

/** They concern the client and the authorization server. */
const notOurs: ReadonlySet<string> = new Set(['offline_access', 'openid', baseScope])

const readScopes: Read<Readonly<Record<string, string>>> = (value, field) => {
  if (!isObject(value)) throw badOption(field, 'an object of scopes, and what each lets a client do', value)
  for (const [scope, text] of Object.entries(value)) {
    if (!isScope(scope) || notOurs.has(scope)) throw badOption(field, 'scopes of this server', scope)
    readText(text, `${field}.${scope}`)
  }
  return Object.freeze({ ...(value as Record<string, string>) })
}

function readFunction<Fn>(value: unknown, field: string): Fn {
  if (typeof value === 'function') return value as Fn
  throw badOption(field, 'a function', value)
}

const lifetimes = {
  accessToken: orElse(readMs, 3_600_000),
  refreshToken: orElse(readMs, 30 * 24 * 3_600_000),
  login: orElse(readMs, 8 * 3_600_000),
}

const limits = {
  registrations: orElse(readCount, 60),
  authorizations: orElse(readCount, 60),
  requests: orElse(readCount, 600),
}

const readers = {
  with: readProvider,
  resource: readSecureUrl,
  name: orElse(readText, undefined),
  scopes: orElse(readScopes, Object.freeze({})),
  scopesOf: orElse(readFunction<NonNullable<SignInOptions['scopesOf']>>, undefined),
  allow: orElse(readFunction<NonNullable<SignInOptions['allow']>>, undefined),
  dpop: orElse(readFlag, false),
  lifetimes: readGroup(lifetimes),
  limits: readGroup(limits),
}
