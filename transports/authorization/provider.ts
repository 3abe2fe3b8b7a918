import { badOption, orElse, type Read, readOptions, readText } from '../base/read-option.js'
import { readSecureUrl } from '../base/secure-url.js'

/** Who has signed in, as the identity provider says. */
export interface SignedInUser {
  /** The provider: `https://accounts.google.com`, `https://github.com`. */
  readonly issuer: string
  /** Who it is there, for ever: an email or a name may become another person's. */
  readonly subject: string
  readonly name?: string
  /** Only an address that the provider says it has verified. */
  readonly email?: string
  /** All that it says, also what it has not verified. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** What a provider says of the owner of a token. */
export interface UserFacts {
  readonly subject: string
  readonly name?: string | undefined
  /** Only if it is verified. */
  readonly email?: string | undefined
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Gets JSON of the provider with the token of the user. */
export type AskProvider = (address: string) => Promise<unknown>

/** Where the provider has what, where discovery does not find it. */
interface ProviderPlaces {
  /** What it calls itself where users come back (RFC 9207); undefined: nobody knows, and it is not compared. */
  readonly callbackIssuer: string | undefined
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** Or where the API of GitHub is. */
  readonly userInfo: ((ask: AskProvider) => Promise<UserFacts>) | { readonly github: string }
}

export interface ProviderSettings {
  /** As pages call it. */
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** More parameters of the login, such as `access_type`. */
  readonly params: Readonly<Record<string, string>>
  /** Undefined: OpenID discovery finds them. */
  readonly places: ProviderPlaces | undefined
}

/** Where users sign in; made by `github`, `oidc` and `oauth2`. */
export class IdentityProvider {
  readonly name: string
  readonly #settings: ProviderSettings

  constructor(settings: ProviderSettings) {
    this.name = settings.name
    this.#settings = settings
  }

  /** What it is made of: for the login. */
  static settings(provider: IdentityProvider): ProviderSettings {
    return provider.#settings
  }
}

/** How this server is known to its identity provider: register it there, with `ORIGIN/sign-in/callback`. */
interface ProviderClient {
  readonly clientId: string
  readonly clientSecret: string
  /** What is asked of each user. */
  readonly scopes?: readonly string[]
  /** As pages call the provider. Default: its host. */
  readonly name?: string
}

/** Options of `oidc()`. */
export interface OidcOptions extends ProviderClient {
  /** As in its metadata: `https://accounts.google.com`, `https://login.microsoftonline.com/TENANT/v2.0`. */
  readonly issuer: string
  /** More parameters of the login. For a refresh token Google wants `access_type: 'offline'`. Default none. */
  readonly params?: Readonly<Record<string, string>>
}

/**
 * A provider with OpenID Connect: Google, Entra, Okta, Auth0, Keycloak, Cognito, GitLab. It is asked for `openid`,
 * `email` and `profile` unless `scopes` says otherwise. Throws TransportError BAD_OPTION.
 */
export function oidc(options: OidcOptions): IdentityProvider {
  const { scopes = ['openid', 'email', 'profile'], ...read } = readOptions(options, oidcReaders, 'oidc')
  if (!scopes.includes('openid')) throw badOption('oidc.scopes', "'openid' among them", scopes)
  const name = read.name ?? new URL(read.issuer).host
  return new IdentityProvider(Object.freeze({ ...read, scopes, name, places: undefined }))
}

/** Options of `github()`. */
export interface GithubOptions extends ProviderClient {
  /** Of GitHub Enterprise, with its own host. Default `https://github.com`. */
  readonly url?: string
}

/**
 * GitHub, which has no OpenID: an OAuth app, or a GitHub app. `scopes` are `read:user` and `user:email` unless
 * given; `subject` is the number of the account, and its login among the claims. Throws TransportError BAD_OPTION.
 */
export function github(options: GithubOptions): IdentityProvider {
  const { url, scopes, name, ...read } = readOptions(options, githubReaders, 'github')
  const { origin } = new URL(url)
  const api = origin === 'https://github.com' ? 'https://api.github.com' : `${origin}/api/v3`
  return new IdentityProvider(
    Object.freeze({
      ...read,
      name: name ?? 'GitHub',
      issuer: origin,
      scopes: scopes ?? ['read:user', 'user:email'],
      params: {},
      places: {
        callbackIssuer: `${origin}/login/oauth`,
        authorizeUrl: `${origin}/login/oauth/authorize`,
        tokenUrl: `${origin}/login/oauth/access_token`,
        userInfo: { github: api },
      },
    }),
  )
}

/** Options of `oauth2()`. */
export interface OAuth2Options extends ProviderClient {
  /**
   * What stands for the provider in `ctx.principal.issuer`, and must be what it calls itself where users come
   * back (`iss`, RFC 9207), if it does. Default: `authorizeUrl`, which is not compared. Two with the same one,
   * whose users are others by what the client or `params` say, have to be told apart here.
   */
  readonly issuer?: string
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** Finds out whose token it is: `ask` gets JSON with it. `subject` must be for ever one person's. */
  readonly userInfo: (ask: AskProvider) => Promise<UserFacts>
  /** More parameters of the login. Default none. */
  readonly params?: Readonly<Record<string, string>>
}

/** A provider of OAuth 2 without OpenID. Throws TransportError BAD_OPTION. */
export function oauth2(options: OAuth2Options): IdentityProvider {
  const read = readOptions(options, oauth2Readers, 'oauth2')
  const { authorizeUrl, tokenUrl, userInfo, scopes = [], ...client } = read
  const { host, href } = new URL(authorizeUrl)
  return new IdentityProvider(
    Object.freeze({
      ...client,
      scopes,
      name: client.name ?? host,
      // not its origin: of several tenants of one host each has users of its own, with ids of its own
      issuer: client.issuer ?? href,
      places: {
        callbackIssuer: client.issuer,
        authorizeUrl,
        tokenUrl,
        userInfo,
      },
    }),
  )
}

const readScopeList: Read<readonly string[]> = (value, field) => {
  if (Array.isArray(value)) return Object.freeze(value.map((scope) => readText(scope, field)))
  throw badOption(field, 'an array of scopes', value)
}

const readParams: Read<Readonly<Record<string, string>>> = (value, field) => {
  if (typeof value !== 'object' || value === null) throw badOption(field, 'an object of strings', value)
  for (const [name, text] of Object.entries(value)) readText(text, `${field}.${name}`)
  return Object.freeze({ ...value }) as Readonly<Record<string, string>>
}

/** A secret is not shown. */
const readSecret: Read<string> = (value, field) => {
  if (typeof value === 'string' && value !== '') return value
  throw badOption(field, 'a non-empty string', typeof value)
}

const clientReaders = {
  clientId: readText,
  clientSecret: readSecret,
  scopes: orElse(readScopeList, undefined),
  name: orElse(readText, undefined),
}
const oidcReaders = { ...clientReaders, issuer: readSecureUrl, params: orElse(readParams, {}) }
const githubReaders = { ...clientReaders, url: orElse(readSecureUrl, 'https://github.com') }
const oauth2Readers = {
  ...clientReaders,
  issuer: orElse(readText, undefined),
  authorizeUrl: readSecureUrl,
  tokenUrl: readSecureUrl,
  userInfo: (value: unknown, field: string): OAuth2Options['userInfo'] => {
    if (typeof value === 'function') return value as OAuth2Options['userInfo']
    throw badOption(field, 'a function', value)
  },
  params: orElse(readParams, {}),
}
