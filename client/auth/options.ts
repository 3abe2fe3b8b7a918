import type { JsonObject } from '../../protocol/wire/json.js'
import { isSecureUrl } from '../../transports/base/secure-url.js'
import type { LookupAll } from '../../transports/base/private-address.js'
import { type AuthStorage, memoryAuthStorage } from './storage.js'
import {
  bad,
  readFields,
  readFlag,
  readMs,
  readObject,
  readSignal,
  readText,
  readWord,
} from '../base/read-options.js'

/** A client registered beforehand. */
export interface RegisteredClient {
  readonly id: string
  readonly secret?: string
  /** Signs in with this key instead of a secret (`private_key_jwt`): PEM, PKCS #8 or SEC 1. */
  readonly privateKey?: string
  /** The algorithm of that key. Default ES256. */
  readonly algorithm?: KeyAlgorithm
  /** The `kid` of the key, where the authorization server knows several. */
  readonly keyId?: string
  /**
   * The only issuer that it is used at; with a `secret` it has to be said. Default: the first one that the
   * server names.
   */
  readonly issuer?: string
}

/** Algorithms of client keys. */
export type KeyAlgorithm = 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'EdDSA'

/**
 * Enterprise-managed authorization: a sign-in at a company's identity provider is exchanged for the token.
 */
export interface EnterpriseOptions {
  /** The ID token of the user; a function is called whenever a token is needed. */
  readonly idToken: string | (() => string | Promise<string>)
  /** The token endpoint of the identity provider. */
  readonly tokenEndpoint: string
  /** The client as the identity provider knows it. */
  readonly clientId: string
  readonly clientSecret?: string
}

/** What the JWT of a workload is for. */
export interface WorkloadRequest {
  /** What its `aud` should name: the token endpoint. */
  readonly audience: string
  readonly issuer: string
  /** The MCP server that a token is wanted for. */
  readonly resource: string | undefined
  /** Aborted when nobody waits for it any more. */
  readonly signal: AbortSignal
}

/**
 * Workload identity: the JWT that its platform gives this program is traded for the token, without a client
 * id. Either `token` or `file`.
 */
export interface WorkloadOptions {
  /** Gives the JWT; called for each request to a token endpoint. */
  readonly token?: (request: WorkloadRequest) => string | Promise<string>
  /** Where the platform writes it, as Kubernetes does; read for each request. */
  readonly file?: string
  /**
   * The only authorization server that the JWT is sent to. Default: one whose issuer or token endpoint its
   * `aud` names.
   */
  readonly issuer?: string
}

/** One sign-in of a person; made by `SignIn.begin`. */
export interface SignInSession {
  /** Where the authorization server sends the person back to. */
  readonly redirectUri: string
  /**
   * Shows the address to the person; resolves with the parameters of the redirect. A rejection with the code
   * SIGN_IN_NEEDED: the person comes back later, and `SignIn.returned` gives `begun`, which is secret JSON,
   * with them.
   */
  authorize(url: URL, signal: AbortSignal, begun?: JsonObject): Promise<URLSearchParams>
  close?(): Promise<void>
}

/** How a person signs in: `loopbackSignIn()`, or one of yours where there is no browser. */
export interface SignIn {
  /**
   * Called for each sign-in; `preferred` is the redirect address that is registered already. A rejection with
   * the code SIGN_IN_NEEDED: the person is asked already, and comes back later.
   */
  begin(preferred: string | undefined): Promise<SignInSession>
  /** Gives once what a person has come back with later, in this program or another one. */
  returned?(): Promise<ReturnedSignIn | undefined>
}

/** What a person came back with, of a sign-in that nobody waited for. */
export interface ReturnedSignIn {
  /** What `authorize` was given. */
  readonly begun: JsonObject
  /** Those of the redirect. */
  readonly parameters: URLSearchParams
}

/** How tokens are got. */
export interface OAuthOptions {
  /** How a person signs in. Default: a sign-in fails with SIGN_IN_NEEDED. */
  readonly signIn?: SignIn
  /**
   * A client registered beforehand. Default: `clientMetadataUrl` where supported, or dynamic registration.
   */
  readonly client?: RegisteredClient
  /**
   * The https address of a document that describes this client, and is its id (Client ID Metadata Documents).
   */
  readonly clientMetadataUrl?: string
  /** The name that people see at dynamic registration. Default `Caduceus`. */
  readonly clientName?: string
  /** Scopes, space-separated, if the server does not say which it wants. Default: all of the resource. */
  readonly scope?: string
  /** `client_credentials`: the client signs in as itself; wants `client`. Default `authorization_code`. */
  readonly grant?: 'authorization_code' | 'client_credentials'
  /** Tokens come through a company's identity provider; wants `client`. */
  readonly enterprise?: EnterpriseOptions
  /** This program's own identity is traded for tokens; not together with `client`. */
  readonly workload?: WorkloadOptions
  /**
   * Tokens are bound to a key that never leaves the storage (RFC 9449), and each request proves it. It is
   * required: where an authorization server does not bind them, there is none. Default false.
   */
  readonly dpop?: boolean
  /** Where tokens are kept. Default: in memory, so that the next program signs in again. */
  readonly storage?: AuthStorage
  /** Whether authorization servers may be in a private network. Default: if the server itself is. */
  readonly privateNetwork?: boolean
  /** Milliseconds for one request to an authorization server. Default 10,000. */
  readonly requestTimeout?: number
  /** Milliseconds to get a token, the person's part included. Default 300,000. */
  readonly signInTimeout?: number
  /** Closes it when aborted. */
  readonly signal?: AbortSignal
}

type Defaulted = 'clientName' | 'storage' | 'requestTimeout' | 'signInTimeout'

export interface OAuthSettings extends Readonly<Required<Pick<OAuthOptions, Defaulted>>> {
  readonly signIn: SignIn | undefined
  readonly client: RegisteredClient | undefined
  readonly clientMetadataUrl: string | undefined
  readonly scope: string | undefined
  readonly grant: 'authorization_code' | 'client_credentials' | 'enterprise' | 'workload'
  readonly enterprise: EnterpriseOptions | undefined
  readonly workload: WorkloadOptions | undefined
  readonly dpop: boolean
  readonly privateNetwork: boolean | undefined
  readonly signal: AbortSignal | undefined
  /** How names are looked up; for tests. */
  readonly lookup?: LookupAll
}

const fields = [
  ...['signIn', 'client', 'clientMetadataUrl', 'clientName', 'scope', 'grant', 'enterprise', 'storage'],
  ...['workload', 'dpop', 'privateNetwork', 'requestTimeout', 'signInTimeout', 'signal'],
]

/** Throws BAD_OPTION, naming the field; secrets are never shown. */
export function readOAuthOptions(options: OAuthOptions): OAuthSettings {
  const given = readFields(options, 'options', fields) as OAuthOptions
  const client = optional(given.client, readClient)
  const enterprise = optional(given.enterprise, readEnterprise)
  const kinds = ['authorization_code', 'client_credentials'] as const
  const word = readWord(given.grant ?? 'authorization_code', 'grant', kinds)
  const workload = optional(given.workload, readWorkload)
  const other = ['client', 'clientMetadataUrl', 'enterprise', 'grant'] as const
  const beside = workload === undefined ? undefined : other.find((field) => given[field] !== undefined)
  if (beside !== undefined) throw bad(beside, 'nothing beside workload', typeof given[beside])
  const grant = workload !== undefined ? 'workload' : enterprise === undefined ? word : 'enterprise'
  if ((grant === 'client_credentials' || grant === 'enterprise') && client === undefined)
    throw bad('client', `a registered client for ${grant}`, undefined)
  if (grant === 'client_credentials' && client?.secret === undefined && client?.privateKey === undefined)
    throw bad('client', 'a secret or a privateKey', undefined)
  if (given.signIn !== undefined && typeof given.signIn?.begin !== 'function')
    throw bad('signIn', 'an object with begin', typeof given.signIn)
  return Object.freeze({
    signIn: given.signIn,
    client,
    clientMetadataUrl: optional(given.clientMetadataUrl, readDocument),
    clientName: optional(given.clientName, (name) => readText(name, 'clientName')) ?? 'Caduceus',
    scope: optional(given.scope, readScope),
    grant,
    enterprise,
    workload,
    dpop: readFlag(given.dpop, 'dpop', false),
    storage: optional(given.storage, readStorage) ?? memoryAuthStorage(),
    privateNetwork: optional(given.privateNetwork, (flag) => readFlag(flag, 'privateNetwork', false)),
    requestTimeout: readMs(given.requestTimeout, 'requestTimeout', 10_000),
    signInTimeout: readMs(given.signInTimeout, 'signInTimeout', 300_000),
    signal: readSignal(given.signal),
  })
}

function optional<Given, Read>(value: Given | undefined, read: (value: Given) => Read): Read | undefined {
  return value === undefined ? undefined : read(value)
}

function readClient(value: RegisteredClient): RegisteredClient {
  const known = ['id', 'secret', 'privateKey', 'algorithm', 'keyId', 'issuer']
  const client = readFields(value, 'client', known) as Partial<RegisteredClient>
  readText(client.id, 'client.id')
  readSecret(client.secret, 'client.secret')
  readSecret(client.privateKey, 'client.privateKey')
  if (client.secret !== undefined && client.privateKey !== undefined)
    throw bad('client', 'a secret or a privateKey', 'both')
  if (client.algorithm !== undefined)
    readWord(client.algorithm, 'client.algorithm', ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'])
  // a server names the issuer that it wants tokens of: without ours, a hostile one would be given the secret
  if (client.secret !== undefined && client.issuer === undefined)
    throw bad(
      'client.issuer',
      'the issuer where the client is registered: the secret goes to no other',
      undefined,
    )
  if (client.issuer !== undefined && !isSecureUrl(String(client.issuer)))
    throw bad('client.issuer', 'an https address', client.issuer)
  return Object.freeze({ ...(client as RegisteredClient) })
}

function readEnterprise(value: EnterpriseOptions): EnterpriseOptions {
  const known = ['idToken', 'tokenEndpoint', 'clientId', 'clientSecret']
  const given = readFields(value, 'enterprise', known) as Partial<EnterpriseOptions>
  if (typeof given.idToken !== 'function' && (typeof given.idToken !== 'string' || given.idToken === ''))
    throw bad('enterprise.idToken', 'a token or a function', typeof given.idToken)
  if (!isSecureUrl(String(given.tokenEndpoint)))
    throw bad('enterprise.tokenEndpoint', 'an https address', given.tokenEndpoint)
  readText(given.clientId, 'enterprise.clientId')
  readSecret(given.clientSecret, 'enterprise.clientSecret')
  return Object.freeze({ ...(given as EnterpriseOptions) })
}

function readWorkload(value: WorkloadOptions): WorkloadOptions {
  const given = readFields(value, 'workload', ['token', 'file', 'issuer']) as Partial<WorkloadOptions>
  const { token, file, issuer } = given
  if ((token === undefined) === (file === undefined)) throw bad('workload', 'either token or file', 'not one')
  if (token !== undefined && typeof token !== 'function')
    throw bad('workload.token', 'a function', typeof token)
  if (file !== undefined) readText(file, 'workload.file')
  if (issuer !== undefined && !isSecureUrl(String(issuer)))
    throw bad('workload.issuer', 'an https address', issuer)
  return Object.freeze({ ...given })
}

/** A secret is never shown. */
function readSecret(value: unknown, field: string): void {
  if (value !== undefined && (typeof value !== 'string' || value === ''))
    throw bad(field, 'a non-empty string', typeof value)
}

function readDocument(value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const more = url === undefined ? '' : url.username + url.password + url.hash
  if (url?.protocol === 'https:' && url.pathname !== '/' && more === '') return value as string
  const shown = more === '' ? value : 'one with a password, or a fragment'
  throw bad('clientMetadataUrl', 'an https address with a path, and no more than a query', shown)
}

/** Scope tokens (RFC 6749, section 3.3). */
function readScope(value: unknown): string {
  const scope = readText(value, 'scope')
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) return scope
  throw bad('scope', 'words of visible ASCII, without quotes and backslashes', value)
}

function readStorage(value: AuthStorage): AuthStorage {
  const storage = readObject(value, 'storage')
  for (const method of ['read', 'write', 'exclusive'])
    if (typeof storage[method] !== 'function')
      throw bad(`storage.${method}`, 'a function', typeof storage[method])
  return value
}
