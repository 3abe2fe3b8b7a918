import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import { isObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import { messageOf } from '../../runtime/base/errors.js'
import { lastingWorld } from '../../runtime/process/context.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { basicCredentials } from '../base/basic-credentials.js'
import { safeFetch } from '../http/outgoing/fetch.js'
import { toResponse } from '../http/outgoing/to-response.js'
import type { AskProvider, ProviderSettings, SignedInUser, UserFacts } from './provider.js'

const loadOAuth = /* @__PURE__ */ lazy('oauth4webapi', () => import('oauth4webapi'))

/** Milliseconds for an answer of the provider. */
const answerTime = 10_000
/** Milliseconds that its metadata is kept. */
const metadataTime = 3_600_000

/** What becomes of a field that is not there: all users would be one. */
const nobodies: ReadonlySet<string> = new Set(['', 'undefined', 'null', 'NaN', '[object Object]'])

/** What a login has to prove when its user comes back. */
export interface LoginProof {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** What the provider is asked for. */
  readonly scopes: readonly string[]
}

/** The tokens of a user, as they are kept. */
export interface ProviderTokens {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  /** In ms since 1970; absent: it does not expire. */
  readonly expiresAt?: number | undefined
  readonly scopes?: readonly string[] | undefined
}

/** The login at one identity provider. */
export interface ProviderLogin {
  /** `more` scopes than it is always asked for. */
  prove(more?: readonly string[]): LoginProof
  /** Where a browser is sent to sign in, for these scopes. Rejects with AUTHORIZATION_UNAVAILABLE. */
  begin(proof: LoginProof, redirectUri: string): Promise<string>
  /**
   * Who came back, and with what. Rejects with UNAUTHORIZED for what is not the answer to this login, or is a
   * refusal, and with AUTHORIZATION_UNAVAILABLE.
   */
  finish(
    answer: URLSearchParams,
    proof: LoginProof,
    redirectUri: string,
  ): Promise<{ readonly user: SignedInUser; readonly tokens: ProviderTokens }>
  /** Rejects with UNAUTHORIZED where the user has to sign in again. */
  refresh(refreshToken: string): Promise<ProviderTokens>
}

export async function openLogin(settings: ProviderSettings, scopeWorld: World): Promise<ProviderLogin> {
  const oauth = await loadOAuth()
  const world = lastingWorld(scopeWorld)
  const { clientId, clientSecret, issuer, places, scopes, params } = settings
  const client: Client = { client_id: clientId }
  const options = {
    // addresses that are not https were refused before, except on this machine
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: send,
  } as const

  /** Of an address that the operator has chosen: it may be in their own network. */
  async function send(url: string, init: ProviderRequest): Promise<Response> {
    const { method, headers, body } = init
    // a redirect would take secrets and tokens along
    const request = {
      timeout: answerTime,
      clock: world,
      privateNetwork: true,
      maxRedirects: 0,
      headers,
    }
    const signal = new AbortController().signal
    const text = body === undefined || body === null ? undefined : String(body)
    const answer = await safeFetch(url, {
      ...request,
      signal,
      method: method === 'POST' ? 'POST' : 'GET',
      ...(text !== undefined && { body: text }),
    })
    return toResponse(answer)
  }

  let found: { readonly server: AuthorizationServer; readonly at: number } | undefined
  async function metadata(): Promise<AuthorizationServer> {
    if (places !== undefined) {
      const { callbackIssuer = issuer, authorizeUrl, tokenUrl } = places
      return {
        issuer: callbackIssuer,
        authorization_endpoint: authorizeUrl,
        token_endpoint: tokenUrl,
      }
    }
    if (found !== undefined && world.now() - found.at < metadataTime) return found.server
    try {
      const address = new URL(issuer)
      const response = await oauth.discoveryRequest(address, options)
      found = { server: await oauth.processDiscoveryResponse(address, response), at: world.now() }
    } catch (cause) {
      // what was known is better than nothing
      if (found === undefined) throw unavailable(settings, cause)
    }
    return found.server
  }

  /** Nothing is read of an id token of a provider whose name nobody knows, and it would be refused. */
  async function withoutName(response: Response): Promise<Response> {
    if (places === undefined || places.callbackIssuer !== undefined || !response.ok) return response
    const text = await response.text()
    const { status, headers } = response
    try {
      const { id_token: _, ...others } = JSON.parse(text) as TokenEndpointResponse
      return new Response(JSON.stringify(others), { status, headers })
    } catch {
      return new Response(text, { status, headers })
    }
  }

  function authOf({ token_endpoint_auth_methods_supported: methods }: AuthorizationServer): ClientAuth {
    const takesPost = methods === undefined ? places !== undefined : methods.includes('client_secret_post')
    return takesPost ? oauth.ClientSecretPost(clientSecret) : basic(clientSecret)
  }

  function tokensOf(answer: TokenEndpointResponse): ProviderTokens {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, scope } = answer
    return {
      accessToken,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(seconds !== undefined && { expiresAt: world.date() + seconds * 1_000 }),
      ...(scope !== undefined && { scopes: scope.split(/[ ,]+/).filter((one) => one !== '') }),
    }
  }

  /** What the token opens says who its owner is. */
  async function ask(address: string, accessToken: string): Promise<unknown> {
    const response = await send(address, {
      method: 'GET',
      headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
    })
    if (!response.ok) throw new Error(`${new URL(address).origin} answered with status ${response.status}`)
    return response.json()
  }

  async function userOf(server: AuthorizationServer, answer: TokenEndpointResponse): Promise<SignedInUser> {
    const { access_token: token } = answer
    if (places !== undefined) {
      const asked: AskProvider = (address) => ask(address, token)
      const { userInfo } = places
      return user(await ('github' in userInfo ? githubUser(asked, userInfo.github) : userInfo(asked)))
    }
    const claims = oauth.getValidatedIdTokenClaims(answer)
    if (claims === undefined) throw new Error('the answer has no id token')
    let all: Readonly<Record<string, unknown>> = claims
    if (claims.email === undefined && server.userinfo_endpoint !== undefined) {
      const info = await infoOf(server, token, claims.sub)
      // whether an address is verified says who says the address
      all = { ...info, ...claims, email_verified: info.email_verified }
    }
    const { name, preferred_username: shown } = all
    return user({
      subject: claims.sub,
      name: [name, shown].find((one) => typeof one === 'string') as string | undefined,
      email: ownAddress(claims.iss, all),
      claims: all,
    })
  }

  /** What it says besides; nothing where it does not take a token that is for another API. */
  async function infoOf(
    server: AuthorizationServer,
    token: string,
    subject: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const response = await oauth.userInfoRequest(server, client, token, options)
    const { status } = response
    if (status >= 500) throw unavailable(settings, new Error(`who has signed in is answered with ${status}`))
    if (status >= 400) return {}
    return oauth.processUserInfoResponse(server, client, subject, response)
  }

  function user({ subject, name, email, claims }: UserFacts): SignedInUser {
    if (typeof subject !== 'string' || nobodies.has(subject) || subject.length > 512)
      throw new Error('the provider does not say who it is')
    return {
      issuer,
      subject,
      ...(typeof name === 'string' && { name: name.slice(0, 200) }),
      ...(typeof email === 'string' && { email }),
      claims: isObject(claims) ? claims : {},
    }
  }

  return {
    prove: (more = []) => ({
      scopes: [...new Set([...scopes, ...more])],
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
    }),

    async begin({ state, nonce, verifier, scopes: asked }, redirectUri) {
      const { authorization_endpoint: endpoint } = await metadata()
      if (endpoint === undefined) throw unavailable(settings, new Error('it has no authorization endpoint'))
      const address = new URL(endpoint)
      const own = {
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        ...(asked.length > 0 && { scope: asked.join(' ') }),
        state,
        ...(places === undefined && { nonce }),
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      for (const [name, text] of Object.entries({ ...params, ...own })) address.searchParams.set(name, text)
      return address.href
    },

    async finish(answer, { state, nonce, verifier, scopes: asked }, redirectUri) {
      const server = await metadata()
      try {
        const known = new URLSearchParams(answer)
        if (places !== undefined && places.callbackIssuer === undefined) known.delete('iss')
        const checked = oauth.validateAuthResponse(server, client, known, state)
        const response = await oauth
          .authorizationCodeGrantRequest(
            server,
            client,
            authOf(server),
            checked,
            redirectUri,
            verifier,
            options,
          )
          .then(withoutName)
        const expected = places === undefined ? { expectedNonce: nonce, requireIdToken: true } : {}
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected)
        // what it does not say is what was asked for (RFC 6749, 5.1)
        return { user: await userOf(server, tokens), tokens: { scopes: asked, ...tokensOf(tokens) } }
      } catch (cause) {
        throw explained(settings, cause)
      }
    },

    async refresh(refreshToken) {
      const server = await metadata()
      try {
        const auth = authOf(server)
        const response = await oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, options)
        const read = await withoutName(response)
        const tokens = tokensOf(await oauth.processRefreshTokenResponse(server, client, read))
        return { refreshToken, ...tokens }
      } catch (cause) {
        throw explained(settings, cause, true)
      }
    },
  }
}

function basic(secret: string): ClientAuth {
  return (_server, { client_id: id }, _body, headers) =>
    headers.set('authorization', basicCredentials(id, secret))
}

async function githubUser(ask: AskProvider, api: string): Promise<UserFacts> {
  const user = (await ask(`${api}/user`)) as Readonly<Record<string, unknown>>
  // without the scope user:email it is refused
  const emails = await ask(`${api}/user/emails`).catch(() => [])
  const primary = (Array.isArray(emails) ? emails : []).find((one) => one?.primary === true)
  const { id, login, name } = user
  return {
    subject: String(id ?? ''),
    name: typeof name === 'string' ? name : String(login),
    email: primary?.verified === true ? String(primary.email) : undefined,
    claims: user,
  }
}

interface ProviderRequest {
  readonly method?: string
  readonly headers: Record<string, string>
  readonly body?: unknown
}

/** The provider's own words say what is wrong; they are for the operator. */
function explained(settings: ProviderSettings, cause: unknown, isRefresh = false): TransportError {
  if (cause instanceof TransportError) return cause
  const {
    error,
    code,
    status = statusOf((cause as Error | undefined)?.cause),
  } = (cause ?? {}) as {
    readonly error?: unknown
    readonly code?: unknown
    readonly status?: unknown
  }
  // a refresh token ends by the word of the provider alone; a secret that has expired is the operator's
  if (isRefresh && error !== 'invalid_grant') return unavailable(settings, cause)
  if (Number(status) >= 500) return unavailable(settings, cause)
  // what its answer says may be secret; what kind of answer it was is not
  const facts = [typeof status === 'number' && `status ${status}`, error, typeof error === 'string' || code]
  const why = facts.filter((fact) => typeof fact === 'string' && fact !== '').join(', ')
  const text = why === '' ? '' : `: ${why.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)}`
  const problem = `the login at ${settings.name} has failed${text}`
  return new TransportError('UNAUTHORIZED', problem, { cause: withoutBody(cause) })
}

/** An address that nobody has verified may be somebody else's. */
export function ownAddress(issuer: string, claims: Readonly<Record<string, unknown>>): string | undefined {
  const { email, email_verified: isVerified, hd } = claims
  if (isVerified !== true || typeof email !== 'string') return undefined
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  // a private account may have the address of a company whose mail it could read once
  const isTheirs = /^(?:gmail|googlemail)\.com$/.test(domain) || String(hd).toLowerCase() === domain
  return issuer === 'https://accounts.google.com' && !isTheirs ? undefined : email
}

/** Of an answer that the library could make nothing of. */
function statusOf(answer: unknown): unknown {
  return answer instanceof Response ? answer.status : undefined
}

/** What the library throws has the answer of the provider in it, tokens included. */
function withoutBody(cause: unknown): Error {
  const { code, error } = (cause ?? {}) as { readonly code?: unknown; readonly error?: unknown }
  return Object.assign(new Error(messageOf(cause)), {
    ...(typeof code === 'string' && { code }),
    ...(typeof error === 'string' && { error }),
  })
}

function unavailable({ name }: ProviderSettings, cause: unknown): TransportError {
  const problem = `${name} cannot be asked: ${messageOf(cause)}`
  return new TransportError('AUTHORIZATION_UNAVAILABLE', problem, {
    cause: withoutBody(cause),
    retryable: true,
  })
}
