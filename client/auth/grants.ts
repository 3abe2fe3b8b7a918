import { isObject } from '../../protocol/wire/json.js'
import { stackOf } from '../../runtime/base/errors.js'
import type { Clock } from '../../runtime/time/clock.js'
import { pause, waitWithin } from '../../runtime/time/wait.js'
import { isSecureUrl } from '../../transports/base/secure-url.js'
import { ClientError } from '../base/errors.js'
import type { Discovered, ServerMetadata } from './discovery.js'
import { asAuthFailure, authFailed, quotable } from './failure.js'
import type { Binding, CodeRequest, OAuthLibrary, TokenAnswer } from './library.js'
import type { EnterpriseOptions, ReturnedSignIn, SignInSession, WorkloadOptions } from './options.js'
import { clientAt, knownClient, type Registration, registeredRedirect } from './registration.js'
import { orAborted } from './storage.js'
import type { GivenTokens } from './tokens.js'
import { workloadToken } from './workload.js'

interface GrantRequest {
  readonly registration: Registration
  readonly library: OAuthLibrary
  readonly found: Discovered
  readonly scope: string | undefined
  /** Whether a token with less was refused. */
  readonly stepUp: boolean
  readonly signal: AbortSignal
  /** What the token is bound to; undefined for a bearer token. */
  readonly binding: Binding | undefined
  readonly clock: Clock
  /** Called before somebody is asked to sign in; what it throws is what the request rejects with. */
  readonly asking: () => void
}

/**
 * Ms before a code is traded again, at an authorization server that is out of order. Codes live a minute or
 * more.
 */
const pauses = [250, 1_000, 3_000]

/** Rejects with AUTHORIZATION_FAILED and SIGN_IN_NEEDED. */
export async function getToken(request: GrantRequest): Promise<GivenTokens> {
  const { registration, library, found, scope, binding } = request
  const { grant, enterprise, workload } = registration.settings
  if (grant === 'authorization_code') return signInWithCode(request)
  if (enterprise !== undefined) return enterpriseToken(request, enterprise)
  if (workload !== undefined) return tokenOfWorkload(request, workload)
  // the client's own token (extension oauth-client-credentials)
  const party = { metadata: found.metadata, client: await clientAt(registration, ''), binding }
  return library.grant(party, 'client_credentials', { scope, resource: found.resource })
}

/** Trades a person's code for tokens (OAuth 2.1, section 4.1), always with PKCE by S256. */
async function signInWithCode(request: GrantRequest): Promise<GivenTokens> {
  const { registration, library, found, scope, signal, binding, clock } = request
  const { metadata, settings } = registration
  const { resource } = found
  const endpoint = checkedEndpoint(metadata)
  if (settings.signIn === undefined) throw signInNeeded(metadata)
  if (!(await registration.ask.mayShow(endpoint)))
    throw authFailed(
      `${quotable(metadata.issuer)} has its sign-in at ${endpoint.origin}, in a private network, and the server is not in one (option privateNetwork)`,
    )
  const preferred = settings.client === undefined ? await registeredRedirect(registration) : undefined
  const session = await settings.signIn.begin(preferred)
  try {
    const { redirectUri } = session
    const client = await clientAt(registration, redirectUri)
    const code = await library.beginCode()
    const url = addressOf(endpoint, code, {
      client_id: client.id,
      redirect_uri: redirectUri,
      scope,
      resource,
    })
    request.asking()
    // the user's code may ignore the signal
    const { verifier, state, challenge } = code
    const begun = {
      ...{ issuer: metadata.issuer, verifier, state, challenge, redirectUri },
      ...(scope !== undefined && { scope, ...(request.stepUp && { steppedUpTo: scope }) }),
      ...(found.resourceMetadata !== undefined && { resourceMetadata: found.resourceMetadata }),
      ...(client.registered !== undefined && { client: client.registered }),
    }
    const parameters = await orAborted(session.authorize(url, signal, begun), signal)
    const callback = { parameters, redirectUri, resource }
    const trade = () => library.finishCode({ metadata, client, binding }, code, callback)
    return { ...(await persist(request, trade)), client: client.registered }
  } finally {
    await end(session, clock)
  }
}

/** Trades the code of a sign-in that nobody waited for. Rejects with AUTHORIZATION_FAILED. */
export async function finishCode(
  request: Omit<GrantRequest, 'asking' | 'scope' | 'stepUp'>,
  { begun, parameters }: ReturnedSignIn,
): Promise<GivenTokens> {
  const { registration, library, found, binding } = request
  const { metadata } = registration
  const { issuer, verifier, state, challenge, redirectUri, client: registered } = begun
  if (issuer !== metadata.issuer)
    throw authFailed(`the server wants tokens of ${quotable(metadata.issuer)} since the sign-in was begun`)
  const given = isObject(registered) ? registered : undefined
  const client = await knownClient(registration, undefined, given)
  if (client === undefined) throw authFailed('the client of the sign-in is not known any more')
  const code = { verifier: String(verifier), state: String(state), challenge: String(challenge) }
  const callback = { parameters, redirectUri: String(redirectUri), resource: found.resource }
  const trade = () => library.finishCode({ metadata, client, binding }, code, callback)
  return {
    ...(await persist({ ...request, asking: () => {}, scope: undefined, stepUp: false }, trade)),
    client: client.registered,
  }
}

/** Milliseconds that the end of a sign-in is waited for: the tokens are here. */
const endTime = 1_000

/** What cannot be closed costs no sign-in. */
function end(session: SignInSession, clock: Clock): Promise<void> {
  return waitWithin<void>({ clock, ms: endTime, late: () => {} }, (resolve) => {
    const closed = (async () => session.close?.())()
    closed.catch(warn).then(resolve, resolve)
    return undefined
  })
}

function warn(error: unknown): void {
  process.emitWarning(`the end of a sign-in failed: ${stackOf(error)}`, { code: 'CADUCEUS_STRAY' })
}

/** Trades the code again while that may help; then nobody is asked for another one. */
async function persist(
  { clock, signal }: GrantRequest,
  trade: () => Promise<TokenAnswer>,
): Promise<TokenAnswer> {
  let first: ClientError | undefined
  for (const ms of [...pauses, undefined]) {
    try {
      return await trade()
    } catch (cause) {
      const error = asAuthFailure(cause)
      if (!error.retryable && first === undefined) throw error
      // a code counts once: the server may have taken it in the answer that broke
      first ??= error
      if (!error.retryable || ms === undefined || signal.aborted) throw inVain(first)
    }
    await pause(ms, clock, signal)
  }
  throw new Error('unreachable')
}

/** A failure after somebody has signed in: whoever tries again would have to ask again. */
export function inVain(cause: unknown): ClientError {
  const { message, data } = asAuthFailure(cause)
  const facts = typeof data === 'object' && data !== null ? { ...data } : {}
  const problem = `${message}; somebody had signed in, and is not asked again for that`
  return new ClientError('AUTHORIZATION_FAILED', problem, { cause, data: { ...facts, sent: false } })
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
  code: CodeRequest,
  own: Readonly<Record<'client_id' | 'redirect_uri' | 'scope' | 'resource', string | undefined>>,
): URL {
  const url = new URL(endpoint)
  const parameters = {
    response_type: 'code',
    code_challenge: code.challenge,
    code_challenge_method: 'S256',
    state: code.state,
    ...own,
    // OpenID Connect Core, section 11
    prompt: own.scope?.split(' ').includes('offline_access') === true ? 'consent' : undefined,
  }
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value)
  return url
}

function signInNeeded({ issuer }: ServerMetadata): ClientError {
  const message = `somebody has to sign in at ${quotable(issuer)}, and there is no way to ask: give oauth() the option signIn, such as loopbackSignIn()`
  return new ClientError('SIGN_IN_NEEDED', message, { data: { issuer, sent: false } })
}

/**
 * Trades the company's ID token for an assertion (RFC 8693), and that for a token (RFC 7523); extension
 * enterprise-managed-authorization.
 */
async function enterpriseToken(
  { registration, library, found, scope, binding }: GrantRequest,
  enterprise: EnterpriseOptions,
): Promise<TokenAnswer> {
  const { metadata, resource } = found
  const client = await clientAt(registration, '')
  const { idToken, tokenEndpoint, clientId, clientSecret } = enterprise
  const subject = typeof idToken === 'function' ? await idToken() : idToken
  if (typeof subject !== 'string' || subject === '') throw authFailed('enterprise.idToken: expected a token')
  const idp = { issuer: new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint }
  const method = clientSecret === undefined ? 'none' : 'client_secret_basic'
  const exchange = { id: clientId, secret: clientSecret, method } as const
  const assertion = await library.grant(
    { metadata: idp, client: exchange },
    'urn:ietf:params:oauth:grant-type:token-exchange',
    {
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: metadata.issuer,
      resource,
      scope,
      subject_token: subject,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    },
  )
  return library.grant({ metadata, client, binding }, jwtBearer, {
    assertion: assertion.access_token,
    scope,
  })
}

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * Trades the JWT that the platform gives this program for a token (RFC 7523, section 2.1); extension workload
 * identity federation. It names no client, and falls back to no other grant.
 */
async function tokenOfWorkload(
  { library, found, scope, signal, binding }: GrantRequest,
  workload: WorkloadOptions,
): Promise<TokenAnswer> {
  const { metadata, resource } = found
  const client = { id: 'workload', method: 'unnamed' } as const
  // also when it is asked again with a nonce: a JWT counts once (jti)
  return library.grant({ metadata, client, binding }, jwtBearer, async () => ({
    assertion: await workloadToken(workload, found, signal),
    scope,
    resource,
  }))
}
