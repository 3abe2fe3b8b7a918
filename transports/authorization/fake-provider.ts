import { createHash, createPrivateKey, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../runtime/time/clock.js'
import { readWorld } from '../../runtime/time/world.js'
import { pathOf, queryOf } from '../base/target.js'
import { newSigningKey } from './keys.js'

/** Whom a fake identity provider signs in. */
export interface FakeUser {
  readonly subject: string
  readonly name?: string
  readonly email?: string
  /** Default true. */
  readonly emailVerified?: boolean
  /** More claims, such as groups. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Options of `fakeIdentityProvider()`. */
export interface FakeIdentityProviderOptions {
  /** Whom it signs in at first; null: nobody, as if the user had refused. Default: subject `ada`. */
  readonly user?: FakeUser | null
  /** Seconds until its access tokens expire; Infinity: never, and without refresh tokens. Default 3,600. */
  readonly expiresIn?: number
  /** What its tokens expire by. Default: the clock of this machine. */
  readonly clock?: Clock
  /** Answers as GitHub does: no OpenID, and a user at `/api/v3/user`. Default false. */
  readonly github?: boolean
}

/** An identity provider in this process, for tests of `signIn`. */
export interface FakeIdentityProvider {
  /** For `oidc({ issuer })`, and `github({ url })`. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Whom it signs in from now on; null: nobody. */
  user: FakeUser | null
  /** What it was asked for: `authorize`, `token`, `refresh`, `user`. */
  readonly asked: readonly string[]
  /** Ends all of its tokens, refresh tokens included. */
  revoke(): void
  close(): Promise<void>
}

interface Login {
  readonly user: FakeUser
  readonly challenge: string
  readonly redirectUri: string
  readonly nonce: string | null
  readonly scope: string
}

/**
 * Starts an identity provider on a port of this machine, which signs in whom the test says, without asking. It
 * checks what a provider checks: the client's secret, its redirect address, PKCE, that a code or refresh token is
 * good once.
 */
export async function fakeIdentityProvider(
  options: FakeIdentityProviderOptions = {},
): Promise<FakeIdentityProvider> {
  const { user = { subject: 'ada', name: 'Ada', email: 'ada@example.com' }, github = false } = options
  const { expiresIn = 3_600 } = options
  const world = readWorld(options.clock)
  const [clientId, clientSecret] = ['fake-client', 'fake-secret']
  const jwk = JSON.parse(newSigningKey(world)) as Record<string, string>
  const codes = new Map<string, Login>()
  const tokens = new Map<string, FakeUser>()
  const refreshTokens = new Map<string, FakeUser>()
  const asked: string[] = []
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status = 200, headers = {}, body = {} }) => {
        const text = JSON.stringify(body)
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
      },
      (error: unknown) => fail(response, error),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const self: FakeIdentityProvider = {
    ...{ issuer, clientId, clientSecret, user, asked },
    revoke() {
      for (const all of [codes, tokens, refreshTokens]) all.clear()
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }

  async function answer(request: IncomingMessage): Promise<Answered> {
    const query = new URLSearchParams(queryOf(request.url))
    switch (pathOf(request.url)) {
      case '/.well-known/openid-configuration':
        return { body: metadata(issuer) }
      case '/jwks':
        return { body: { keys: [{ ...jwk, d: undefined }] } }
      case '/authorize':
        return authorize(query, issuer)
      case '/login/oauth/authorize':
        return authorize(query, `${issuer}/login/oauth`)
      case '/token':
      case '/login/oauth/access_token':
        return token(request, new URLSearchParams(await textOf(request)))
      case '/userinfo':
      case '/api/v3/user':
        return ownerOf(request)
      case '/api/v3/user/emails': {
        const { body } = ownerOf(request)
        const { email, email_verified: verified } = body as Record<string, unknown>
        return { body: email === undefined ? [] : [{ email, primary: true, verified }] }
      }
      default:
        return { status: 404 }
    }
  }

  /** `iss` is what it calls itself (RFC 9207): GitHub is not at its origin. */
  function authorize(query: URLSearchParams, iss: string): Answered {
    asked.push('authorize')
    const redirectUri = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== clientId || !URL.canParse(redirectUri)) return { status: 400 }
    const target = new URL(redirectUri)
    const challenge = query.get('code_challenge') ?? ''
    const { user: signedIn } = self
    if (signedIn === null) target.searchParams.set('error', 'access_denied')
    else if (query.get('code_challenge_method') !== 'S256' || challenge === '') return { status: 400 }
    else {
      const code = world.id()
      codes.set(code, {
        ...{ user: signedIn, challenge, redirectUri },
        ...{ nonce: query.get('nonce'), scope: query.get('scope') ?? '' },
      })
      target.searchParams.set('code', code)
    }
    target.searchParams.set('state', query.get('state') ?? '')
    target.searchParams.set('iss', iss)
    return { status: 302, headers: { location: target.href } }
  }

  function token(request: IncomingMessage, form: URLSearchParams): Answered {
    if (!knows(request, form)) return { status: 401, body: { error: 'invalid_client' } }
    const isRefresh = form.get('grant_type') === 'refresh_token'
    asked.push(isRefresh ? 'refresh' : 'token')
    if (isRefresh) {
      const given = form.get('refresh_token') ?? ''
      const owner = refreshTokens.get(given)
      refreshTokens.delete(given)
      return owner === undefined ? invalid : { body: issue(owner, null) }
    }
    const code = form.get('code') ?? ''
    const login = codes.get(code)
    codes.delete(code)
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (login === undefined || login.challenge !== verifier) return invalid
    if (form.get('redirect_uri') !== login.redirectUri) return invalid
    return { body: issue(login.user, login.nonce, login.scope) }
  }

  const invalid: Answered = github
    ? { body: { error: 'bad_verification_code' } }
    : { status: 400, body: { error: 'invalid_grant' } }

  function knows(request: IncomingMessage, form: URLSearchParams): boolean {
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    if (request.headers.authorization === `Basic ${basic}`) return true
    return form.get('client_id') === clientId && form.get('client_secret') === clientSecret
  }

  function issue(owner: FakeUser, nonce: string | null, scope?: string): object {
    const [accessToken, refreshToken] = [`token-${world.id()}`, `refresh-${world.id()}`]
    tokens.set(accessToken, owner)
    const lasts = !Number.isFinite(expiresIn)
    if (!lasts) refreshTokens.set(refreshToken, owner)
    const now = Math.floor(world.date() / 1_000)
    const claims = { ...claimsOf(owner), iss: issuer, aud: clientId, iat: now, exp: now + 600 }
    return {
      access_token: accessToken,
      token_type: 'bearer',
      // GitHub writes commas
      ...(scope !== undefined && { scope: github ? scope.replaceAll(' ', ',') : scope }),
      ...(!lasts && { refresh_token: refreshToken, expires_in: expiresIn }),
      ...(!github && { id_token: signed({ ...claims, ...(nonce !== null && { nonce }) }, jwk) }),
    }
  }

  function ownerOf({ headers: { authorization = '' } }: IncomingMessage): Answered {
    asked.push('user')
    const owner = tokens.get(authorization.replace('Bearer ', ''))
    if (owner === undefined) return { status: 401 }
    const { subject, name } = owner
    return { body: github ? { ...claimsOf(owner), id: subject, login: name } : claimsOf(owner) }
  }

  return self
}

interface Answered {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: object
}

function claimsOf({ subject, name, email, emailVerified = true, claims }: FakeUser): object {
  const address = email === undefined ? {} : { email, email_verified: emailVerified }
  return { ...claims, sub: subject, ...(name !== undefined && { name }), ...address }
}

function metadata(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

function signed(claims: object, jwk: Record<string, string>): string {
  const parts = [{ alg: 'ES256', typ: 'JWT' }, claims]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const key = createPrivateKey({ key: jwk, format: 'jwk' })
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function fail(response: ServerResponse, error: unknown): void {
  response.writeHead(500).end(String(error))
}
