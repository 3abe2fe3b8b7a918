import { isSecureUrl } from '../../transports/base/secure-url.js'
import type { ServerMetadata } from './discovery.js'
import { authFailed, quotable } from './failure.js'
import type { CodeRequest, OAuthLibrary, TokenAnswer } from './library.js'
import { clientAt, type Registration, registeredRedirect } from './registration.js'
import { orAborted } from './storage.js'
import { ClientError } from '../base/errors.js'

/** What a person is asked to allow. */
export interface CodeWish {
  readonly registration: Registration
  readonly library: OAuthLibrary
  readonly scope: string | undefined
  readonly resource: string | undefined
  readonly signal: AbortSignal
}

/**
 * Has a person sign in, and trades the code for tokens (OAuth 2.1, section 4.1): PKCE with S256 or not at
 * all, `state`, `resource`. Rejects with SIGN_IN_NEEDED when there is nobody to ask, and with
 * AUTHORIZATION_FAILED.
 */
export async function signInWithCode(wish: CodeWish): Promise<TokenAnswer> {
  const { registration, library, resource, signal } = wish
  const { metadata, settings } = registration
  const endpoint = checkedEndpoint(metadata)
  if (settings.signIn === undefined) throw signInNeeded(metadata)
  const preferred = settings.client === undefined ? await registeredRedirect(registration) : undefined
  const session = await settings.signIn.begin(preferred)
  try {
    const { redirectUri } = session
    const client = await clientAt(registration, redirectUri)
    const code = await library.beginCode()
    const url = addressOf(endpoint, { ...wish, clientId: client.id, redirectUri, code })
    // whatever code of the user's makes of the signal
    const parameters = await orAborted(session.authorize(url, signal), signal)
    return await library.finishCode({ metadata, client }, code, { parameters, redirectUri, resource })
  } finally {
    await session.close?.()
  }
}

/** A server that does not say that it checks S256 might not (specification: authorization, PKCE). */
function checkedEndpoint(metadata: ServerMetadata): URL {
  const { authorization_endpoint: endpoint, code_challenge_methods_supported: methods, issuer } = metadata
  if (endpoint === undefined || !isSecureUrl(endpoint))
    throw authFailed(`${quotable(issuer)} has no https address to sign in at`)
  if (Array.isArray(methods) && methods.includes('S256')) return new URL(endpoint)
  throw authFailed(
    `${quotable(issuer)} does not say that it supports PKCE with S256, so nobody signs in there`,
  )
}

function addressOf(
  endpoint: URL,
  {
    scope,
    resource,
    clientId,
    redirectUri,
    code,
  }: CodeWish & {
    readonly clientId: string
    readonly redirectUri: string
    readonly code: CodeRequest
  },
): URL {
  const url = new URL(endpoint)
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: code.challenge,
    code_challenge_method: 'S256',
    state: code.state,
    scope,
    resource,
    // OpenID Connect Core, section 11
    prompt: scope?.split(' ').includes('offline_access') === true ? 'consent' : undefined,
  }
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value)
  return url
}

function signInNeeded({ issuer }: ServerMetadata): ClientError {
  const message = `somebody has to sign in at ${quotable(issuer)}, and there is no way to ask: give oauth() the option signIn, such as loopbackSignIn()`
  return new ClientError('SIGN_IN_NEEDED', message, { data: { issuer, sent: false } })
}
