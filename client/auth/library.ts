import type { webcrypto } from 'node:crypto'
import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import type { JsonObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import { basicCredentials } from '../../transports/base/basic-credentials.js'
import { withoutSecrets } from '../../transports/base/secrets.js'
import { isPassing } from '../../transports/http/client/errors.js'
import type { SafeAnswer } from '../../transports/http/outgoing/fetch.js'
import { toResponse } from '../../transports/http/outgoing/to-response.js'
import type { Asker } from './ask.js'
import type { ServerMetadata } from './discovery.js'
import { authFailed, quotable } from './failure.js'
import type { KeyAlgorithm } from './options.js'
import { ClientError } from '../base/errors.js'

const loadOAuth = /* @__PURE__ */ lazy('oauth4webapi', () => import('oauth4webapi'))

export interface KnownClient {
  readonly id: string
  readonly secret?: string | undefined
  readonly key?: { readonly pem: string; readonly algorithm: KeyAlgorithm; readonly id?: string | undefined }
  readonly method: 'none' | 'unnamed' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  /** What its issuer answered when it registered it; undefined for any other. */
  readonly registered?: JsonObject
}

/** `expires_in` in seconds. */
export type TokenAnswer = Pick<
  TokenEndpointResponse,
  'access_token' | 'refresh_token' | 'expires_in' | 'scope'
>

/** Secrets of one authorization code request (PKCE, state). */
export interface CodeRequest {
  readonly verifier: string
  readonly challenge: string
  readonly state: string
}

interface Callback {
  readonly parameters: URLSearchParams
  readonly redirectUri: string
  readonly resource: string | undefined
}

interface Party {
  readonly metadata: Pick<ServerMetadata, 'issuer' | 'token_endpoint'>
  readonly client: KnownClient
  /** Default: the token is a bearer token. */
  readonly binding?: Binding | undefined
}

/** The key that a token is to be bound to (RFC 9449, section 5). */
export interface Binding {
  /** A new proof for a request to the token endpoint. */
  prove(endpoint: URL): Promise<string>
  /** Keeps the nonce of an answer, and says whether it is another one. */
  heard(endpoint: URL, headers: SafeAnswer['headers']): boolean
}

type GrantParameters = Readonly<Record<string, string | undefined>>

/** The part of OAuth that oauth4webapi does: proofs, checks of answers, requests to token endpoints. */
export type OAuthLibrary = Awaited<ReturnType<typeof loadLibrary>>

/** Programs without OAuth never load it. */
export async function loadLibrary(ask: Asker) {
  const oauth = await loadOAuth()

  /** Sends a request, and once more where the server wants a nonce and has named another one. */
  async function send({ binding }: Party, attempt: (options: Options) => Promise<TokenEndpointResponse>) {
    let hasNonce = false
    const sent: string[] = []
    const options = {
      // addresses that are not https were refused before, except on this machine
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: async (url: string, init: PostInit) => {
        sent.push(...secretsIn(init))
        const proof = binding === undefined ? {} : { dpop: await binding.prove(new URL(url)) }
        const answer = await post(ask, url, { ...init, headers: { ...init.headers, ...proof } })
        hasNonce = binding?.heard(new URL(url), answer.headers) === true
        return toResponse(answer)
      },
    } as const
    try {
      return await attempt(options).catch((cause: unknown) => {
        if (hasNonce && (cause as { error?: unknown } | null)?.error === 'use_dpop_nonce')
          return attempt(options)
        throw cause
      })
    } catch (cause) {
      throw explain(cause, sent)
    }
  }

  type Options = {
    readonly [oauth.allowInsecureRequests]: true
    readonly [oauth.customFetch]: (url: string, init: PostInit) => Promise<Response>
  }

  async function authOf({ id, secret = '', key, method }: KnownClient): Promise<ClientAuth> {
    if (method === 'client_secret_basic') return basicAuth(secret)
    if (method === 'client_secret_post') return oauth.ClientSecretPost(secret)
    // the assertion of the grant says who it is
    if (method === 'unnamed') return () => {}
    if (method === 'none' || key === undefined) return oauth.None()
    const own = {
      key: await importKey(key.pem, key.algorithm),
      ...(key.id !== undefined && { kid: key.id }),
    }
    const sign = oauth.PrivateKeyJwt(own, {
      // more servers know that name than the newer one of the curve (RFC 9864)
      [oauth.modifyAssertion]: (header) => {
        if (key.algorithm === 'EdDSA') header.alg = 'EdDSA'
      },
    })
    return async (server, client, body, headers) => {
      await sign(server, client, body, headers)
      // the assertion names the client (RFC 7523, section 3)
      if (body.get('client_id') === id) body.delete('client_id')
    }
  }

  return {
    async beginCode(): Promise<CodeRequest> {
      const verifier = oauth.generateRandomCodeVerifier()
      const challenge = await oauth.calculatePKCECodeChallenge(verifier)
      return { verifier, challenge, state: oauth.generateRandomState() }
    },

    /** Checks `iss` (RFC 9207) and `state` first, then trades the code. Rejects with AUTHORIZATION_FAILED. */
    async finishCode(party: Party, code: CodeRequest, callback: Callback): Promise<TokenAnswer> {
      const { metadata, client, binding } = party
      const server = metadata as AuthorizationServer
      const self: Client = { client_id: client.id }
      const { parameters, redirectUri, resource } = callback
      const additionalParameters = resource === undefined ? {} : { resource }
      const answer = await send(party, async (options) => {
        const checked = oauth.validateAuthResponse(server, self, parameters, code.state)
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          self,
          await authOf(client),
          checked,
          redirectUri,
          code.verifier,
          { ...options, additionalParameters },
        )
        return oauth.processAuthorizationCodeResponse(server, self, response)
      })
      return usable(answer, binding)
    },

    /** Other grants. Rejects with AUTHORIZATION_FAILED (`data.error`); retryable if out of order. */
    async grant(
      party: Party,
      type: string,
      parameters: GrantParameters | (() => Promise<GrantParameters>),
    ): Promise<TokenAnswer> {
      const { metadata, client, binding } = party
      const server = metadata as AuthorizationServer
      const self: Client = { client_id: client.id }
      // the type of what is no access token (RFC 8693, section 2.2.1)
      const how = { recognizedTokenTypes: { n_a: () => {} } }
      const answer = await send(party, async (options) => {
        const all = typeof parameters === 'function' ? await parameters() : parameters
        const given = Object.entries(all).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value]],
        )
        const auth = await authOf(client)
        const response = await oauth.genericTokenEndpointRequest(server, self, auth, type, given, options)
        return oauth.processGenericTokenEndpointResponse(server, self, response, how)
      })
      return answer.token_type === ('n_a' as string) ? answer : usable(answer, binding)
    },
  }
}

interface PostInit {
  readonly headers: Record<string, string>
  readonly body: URLSearchParams
}

function post(ask: Asker, url: string, { headers, body }: PostInit): Promise<SafeAnswer> {
  const { 'content-type': type = 'application/x-www-form-urlencoded', ...rest } = headers
  return ask.post(url, type, body.toString(), rest)
}

/** A bound token where one was asked for, and a bearer token elsewhere: never one for the other. */
function usable(answer: TokenEndpointResponse, binding: Binding | undefined): TokenAnswer {
  const wanted = binding === undefined ? 'bearer' : 'dpop'
  if (answer.token_type === wanted && isToken(answer.access_token)) return answer
  const what = binding === undefined ? 'that is no bearer token' : 'that is not bound to our key (DPoP)'
  throw authFailed(`the authorization server gave a token ${what}`)
}

/** Whether a text can be sent as a token: a header takes no other. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/** Encoded as forms (RFC 6749, section 2.3.1), no further: not every server decodes more. */
function basicAuth(secret: string): ClientAuth {
  return (_server, { client_id: id }, _body, headers) =>
    headers.set('authorization', basicCredentials(id, secret))
}

const secretFields = [
  ...['client_secret', 'code', 'code_verifier', 'refresh_token', 'assertion', 'client_assertion'],
  ...['subject_token', 'actor_token'],
]

/** What is sent that nobody else may read. */
function secretsIn({ headers, body }: PostInit): string[] {
  const [, basic = ''] = headers.authorization?.split(' ') ?? []
  const [, secret = ''] = atob(basic).split(':')
  const [[, plain = ''] = []] = new URLSearchParams(`s=${secret}`)
  const all = [...secretFields.flatMap((name) => body.getAll(name)), basic, secret, plain]
  return all.filter((text) => text !== '')
}

/**
 * Errors of the library hold answers with tokens: only their words are kept, without what they repeat of
 * `sent`.
 */
function explain(cause: unknown, sent: readonly string[]): unknown {
  if (cause instanceof ClientError) return cause
  const facts = cause as { readonly [field: string]: unknown }
  const { code, error, error_description: why, status: told, message, cause: inner, response: given } = facts
  if (typeof code !== 'string' || !code.startsWith('OAUTH_')) return cause
  const quoted = (text: unknown): string =>
    typeof text === 'string' ? quotable(withoutSecrets(text, sent)) : ''
  const response = inner instanceof Response ? inner : undefined
  const status = typeof told === 'number' ? told : response?.status
  const answer = response ?? (given instanceof Response ? given : undefined)
  const retryAfter = answer?.headers.get('retry-after') ?? undefined
  const data = {
    ...(status !== undefined && { status }),
    ...(retryAfter !== undefined && { retryAfter }),
    sent: false,
  }
  const isBusy = status !== undefined && isPassing(status)
  if (typeof error === 'string') {
    const said = [error, why].map(quoted).filter((text) => text !== '')
    return new ClientError('AUTHORIZATION_FAILED', `the authorization server says ${said.join(': ')}`, {
      retryable: isBusy || passingCodes.has(error),
      data: { error: quoted(error), ...data },
    })
  }
  const text =
    response === undefined
      ? quoted(message)
      : `the authorization server answered with status ${response.status}`
  return new ClientError('AUTHORIZATION_FAILED', text, {
    retryable: isBusy || code === 'OAUTH_PARSE_ERROR',
    data: { ...data, ...(code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' && { error: 'invalid_client' }) },
  })
}

/** A server that says so is out of order for now (RFC 6749, section 4.1.2.1; RFC 8628, section 3.5). */
const passingCodes: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable', 'slow_down'])

const keyKinds: Readonly<
  Record<KeyAlgorithm, webcrypto.EcKeyImportParams | webcrypto.RsaHashedImportParams | { name: string }>
> = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  ES384: { name: 'ECDSA', namedCurve: 'P-384' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
}

async function importKey(pem: string, algorithm: KeyAlgorithm): Promise<webcrypto.CryptoKey> {
  const { createPrivateKey } = process.getBuiltinModule('node:crypto')
  try {
    const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' })
    return await crypto.subtle.importKey('pkcs8', der, keyKinds[algorithm], false, ['sign'])
  } catch {
    throw authFailed(`client.privateKey: expected a key in PEM for ${algorithm}`)
  }
}
