import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SignIn } from '../../../client/auth/options.js'
import type { TestContext } from '../../support/suite.js'
import { end, json, listen, polite, type RawHttp, result, type Seen, status } from '../../transports/_http.js'

/** One request to an endpoint of the authorization server. */
export type Asked = {
  readonly path: string
  readonly form: Record<string, string>
  readonly authorization: string | undefined
}

/** An authorization server over real HTTP: registration, codes with PKCE, refresh tokens that rotate and betray a second use. */
export type OAuthServer = {
  readonly issuer: string
  readonly asked: Asked[]
  /** The access tokens that are good now, with their scopes. */
  readonly good: Map<string, string>
  /** Fields of its metadata; undefined leaves one out. */
  metadata: Record<string, unknown>
  /** Changes the parameters that it redirects with. */
  redirect: (parameters: Record<string, string | undefined>) => Record<string, string | undefined>
  /** Answers instead of the token endpoint, if it likes to. */
  instead: ((form: Record<string, string>) => Answer | undefined) | undefined
  /** Answers half of its JSON at these places, once each, as if it were whole. */
  readonly tears: Set<string>
  /** Never answers at these places. */
  readonly silent: Set<string>
  /** Milliseconds, in seconds, that access tokens live. */
  expiresIn: number | undefined
  /** How often refresh tokens were used twice, which ends the whole family. */
  reuses: number
  /** The requests of one path. */
  of(path: string): Asked[]
}

/** Starts one on a free port; it goes away with the test. */
export async function startOAuthServer(t: Pick<TestContext, 'after'>, path = ''): Promise<OAuthServer> {
  const codes = new Map<string, Record<string, string>>()
  const refresh = new Map<string, { scope: string; used: boolean }>()
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', self.issuer)
    const form = request.method === 'POST' ? await formOf(request) : Object.fromEntries(url.searchParams)
    self.asked.push({ path: url.pathname, form, authorization: request.headers.authorization })
    if (self.silent.has(url.pathname)) return
    const answer = answerTo(url.pathname, form)
    const headers = { 'content-type': 'application/json', ...answer.headers }
    const text = JSON.stringify(answer.body ?? {})
    const isTorn = self.tears.delete(url.pathname)
    response.writeHead(answer.status, headers).end(isTorn ? text.slice(0, text.length / 2) : text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function answerTo(place: string, form: Record<string, string>): Answer {
    if (place === `/.well-known/oauth-authorization-server${path}`)
      return { status: 200, body: self.metadata }
    if (place === '/register') return { status: 201, body: { ...form, client_id: `client-${randomUUID()}` } }
    if (place === '/authorize') return authorize(form)
    if (place !== '/token') return { status: 404 }
    return self.instead?.(form) ?? token(form)
  }

  function authorize(form: Record<string, string>): Answer {
    const code = randomUUID()
    codes.set(code, form)
    const location = new URL(form.redirect_uri ?? '')
    for (const [name, value] of Object.entries(self.redirect({ code, state: form.state, iss: self.issuer })))
      if (value !== undefined) location.searchParams.set(name, value)
    return { status: 302, headers: { location: location.href } }
  }

  function token(form: Record<string, string>): Answer {
    const type = form.grant_type
    if (type === 'client_credentials' || type?.endsWith('jwt-bearer')) return issue(form.scope ?? '', false)
    if (type === 'refresh_token') return rotate(form.refresh_token ?? '')
    const begun = codes.get(form.code ?? '')
    codes.delete(form.code ?? '')
    const challenge = createHash('sha256')
      .update(form.code_verifier ?? '')
      .digest('base64url')
    const fits = begun?.code_challenge === challenge && begun.redirect_uri === form.redirect_uri
    return fits ? issue(begun.scope ?? '', true) : { status: 400, body: { error: 'invalid_grant' } }
  }

  function rotate(old: string): Answer {
    const known = refresh.get(old)
    if (known === undefined) return { status: 400, body: { error: 'invalid_grant' } }
    if (!known.used) {
      known.used = true
      return issue(known.scope, true)
    }
    self.reuses += 1
    refresh.clear()
    self.good.clear()
    return { status: 400, body: { error: 'invalid_grant' } }
  }

  function issue(scope: string, refreshable: boolean): Answer {
    const [access, again] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`]
    self.good.set(access, scope)
    if (refreshable) refresh.set(again, { scope, used: false })
    const more = { ...(refreshable && { refresh_token: again }), expires_in: self.expiresIn }
    return { status: 200, body: { access_token: access, token_type: 'Bearer', ...more } }
  }

  const self: OAuthServer = {
    issuer: origin + path,
    asked: [],
    good: new Map(),
    metadata: {
      issuer: origin + path,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'private_key_jwt'],
    },
    redirect: (parameters) => parameters,
    instead: undefined,
    tears: new Set(),
    silent: new Set(),
    expiresIn: 3600,
    reuses: 0,
    of: (place) => self.asked.filter((one) => one.path === place),
  }
  return self
}

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object }

async function formOf(request: IncomingMessage): Promise<Record<string, string>> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  if (request.headers['content-type'] === 'application/json') return JSON.parse(body)
  return Object.fromEntries(new URLSearchParams(body))
}

/** An MCP server that lets in whoever has a token of `issuer`, and says where they come from. */
export type GuardedServer = RawHttp & {
  /** The issuer that its metadata names. */
  issuer: string
  /** Fields of its metadata. */
  metadata: Record<string, unknown>
  /** Scopes that calls of a tool with this name want. */
  readonly wants: Map<string, string>
  /** Takes tokens of these servers. */
  readonly servers: OAuthServer[]
}

/** Starts one. */
export async function startGuarded(
  t: Pick<TestContext, 'after'>,
  issuer: OAuthServer,
): Promise<GuardedServer> {
  const raw = await listen(t, (seen) => handle(seen))
  const url = raw.url.replace(/\?.*/, '')
  const wellKnown = '/.well-known/oauth-protected-resource/mcp'
  const useful = polite((seen) => json(seen, result(seen, { content: [{ type: 'text', text: 'in' }] })))

  function handle(seen: Seen): unknown {
    const path = (seen.response.req as IncomingMessage).url ?? ''
    if (path === wellKnown) {
      const document = { resource: url, authorization_servers: [self.issuer], ...self.metadata }
      return json(seen, document)
    }
    if (path !== '/mcp') return status(seen, 404)
    const token = seen.headers.authorization?.replace('Bearer ', '') ?? ''
    const scope = self.servers.map(({ good }) => good.get(token)).find((found) => found !== undefined)
    const where = `resource_metadata="${new URL(wellKnown, url).href}"`
    if (scope === undefined) return status(seen, 401, { 'www-authenticate': `Bearer ${where}` })
    const wanted = self.wants.get(String(seen.message.params?.name))
    if (wanted === undefined || scope.split(' ').includes(wanted)) return useful(seen)
    const why = `Bearer error="insufficient_scope", scope="${wanted}", ${where}`
    return status(seen, 403, { 'www-authenticate': why })
  }

  const self: GuardedServer = {
    ...raw,
    url,
    issuer: issuer.issuer,
    metadata: {},
    wants: new Map(),
    servers: [issuer],
  }
  return self
}

/** Signs in at once, as a person with a quick finger does. */
export function quickSignIn(redirectUri = 'http://127.0.0.1:3000/callback'): SignIn & { opened: URL[] } {
  const opened: URL[] = []
  return {
    opened,
    begin: async () => ({
      redirectUri,
      async authorize(url) {
        opened.push(url)
        const { headers } = await fetch(url, { redirect: 'manual' })
        return new URL(headers.get('location') ?? '').searchParams
      },
    }),
  }
}
