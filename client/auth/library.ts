import type { webcrypto } from 'node:crypto'
import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import { lazy } from '../../runtime/faults/load.js'
import type { Asker } from './ask.js'
import type { ServerMetadata } from './discovery.js'
import { authFailed, quotable } from './failure.js'
import type { KeyAlgorithm } from './options.js'
import { ClientError } from '../base/errors.js'

const loadOAuth = lazy('oauth4webapi', () => import('oauth4webapi'))

export interface KnownClient {
  readonly id: string
  readonly secret?: string | undefined
  readonly key?: { readonly pem: string; readonly algorithm: KeyAlgorithm; readonly id?: string | undefined }
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
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
}

/** The part of OAuth that oauth4webapi does: proofs, checks of answers, requests to token endpoints. */
export type OAuthLibrary = Awaited<ReturnType<typeof loadLibrary>>

/** Programs without OAuth never load it. */
export async function loadLibrary(ask: Asker) {
  const oauth = await loadOAuth()
  const options = {
    // addresses that are not https were refused before, except on this machine
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (url: string, init: { headers: Record<string, string>; body: URLSearchParams }) =>
      post(ask, url, init),
  } as const

  async function authOf({ id, secret = '', key, method }: KnownClient): Promise<ClientAuth> {
    if (method === 'client_secret_basic') return basicAuth(secret)
    if (method === 'client_secret_post') return oauth.ClientSecretPost(secret)
    if (method === 'none' || key === undefined) return oauth.None()
    const sign = oauth.PrivateKeyJwt({
      key: await importKey(key.pem, key.algorithm),
      ...(key.id !== undefined && { kid: key.id }),
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
    async finishCode(
      { metadata, client }: Party,
      code: CodeRequest,
      callback: Callback,
    ): Promise<TokenAnswer> {
      const server = metadata as AuthorizationServer
      const self: Client = { client_id: client.id }
      const { parameters, redirectUri, resource } = callback
      try {
        const checked = oauth.validateAuthResponse(server, self, parameters, code.state)
        const additionalParameters = resource === undefined ? {} : { resource }
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          self,
          await authOf(client),
          checked,
          redirectUri,
          code.verifier,
          { ...options, additionalParameters },
        )
        return bearerOf(await oauth.processAuthorizationCodeResponse(server, self, response))
      } catch (cause) {
        throw explain(cause)
      }
    },

    /** Other grants. Rejects with AUTHORIZATION_FAILED (`data.error`); retryable if out of order. */
    async grant(
      { metadata, client }: Party,
      type: string,
      parameters: Readonly<Record<string, string | undefined>>,
    ): Promise<TokenAnswer> {
      const server = metadata as AuthorizationServer
      const self: Client = { client_id: client.id }
      const given = Object.entries(parameters).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      )
      try {
        const auth = await authOf(client)
        const response = await oauth.genericTokenEndpointRequest(server, self, auth, type, given, options)
        // the type of what is no access token (RFC 8693, section 2.2.1)
        const recognizedTokenTypes = { n_a: () => {} }
        const how = { recognizedTokenTypes }
        const answer = await oauth.processGenericTokenEndpointResponse(server, self, response, how)
        return answer.token_type === ('n_a' as string) ? answer : bearerOf(answer)
      } catch (cause) {
        throw explain(cause)
      }
    },
  }
}

async function post(
  ask: Asker,
  url: string,
  { headers, body }: { readonly headers: Record<string, string>; readonly body: URLSearchParams },
): Promise<Response> {
  const { 'content-type': type = 'application/x-www-form-urlencoded', ...rest } = headers
  const answer = await ask.post(url, type, body.toString(), rest)
  const given = Object.entries(answer.headers).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [[name, typeof value === 'string' ? value : value.join(', ')] as [string, string]],
  )
  return new Response(answer.text === '' ? null : answer.text, { status: answer.status, headers: given })
}

function bearerOf(answer: TokenEndpointResponse): TokenAnswer {
  if (answer.token_type === 'bearer' && /^[\x21-\x7e]+$/.test(answer.access_token)) return answer
  throw authFailed('the authorization server gave a token that is no bearer token')
}

/** Encoded as forms (RFC 6749, section 2.3.1), no further: not every server decodes more. */
function basicAuth(secret: string): ClientAuth {
  const encoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
  return (_server, { client_id: id }, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${encoded(id)}:${encoded(secret)}`)}`)
  }
}

/** Errors of the library hold answers with tokens: only their words are kept. */
function explain(cause: unknown): unknown {
  if (cause instanceof ClientError) return cause
  const facts = cause as { readonly [field: string]: unknown }
  const { code, error, error_description: why, status, message, cause: inner } = facts
  if (typeof code !== 'string' || !code.startsWith('OAUTH_')) return cause
  if (typeof error === 'string') {
    const said = [error, why].map(quotable).filter((text) => text !== '')
    const data = { error: quotable(error), ...(typeof status === 'number' && { status }), sent: false }
    return authFailed(`the authorization server says ${said.join(': ')}`, data)
  }
  const response = inner instanceof Response ? inner : undefined
  const isTorn = code === 'OAUTH_PARSE_ERROR'
  const passing = isTorn || (response !== undefined && (response.status >= 500 || response.status === 429))
  const text =
    response === undefined
      ? quotable(message)
      : `the authorization server answered with status ${response.status}`
  return new ClientError('AUTHORIZATION_FAILED', text, {
    retryable: passing,
    data: { sent: false, ...(code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' && { error: 'invalid_client' }) },
  })
}

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
