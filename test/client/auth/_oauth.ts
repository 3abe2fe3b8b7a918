import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SignIn } from 'caduceus/client'
import type { TestContext } from '../../support/suite.js'
import { thumbprintOf } from './_proofs.js'
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
  /** Answers of the token endpoint wait for this; `onToken` hears of a request to it first. */
  delay: Promise<void> | undefined
  onToken: (() => void) | undefined
  /** Answers half of its JSON at these places, once each, as if it were whole. */
  readonly tears: Set<string>
  /** Somebody on the way answers with a page at these places, once each, with this status. */
  readonly pages: Map<string, number>
  /** Never answers at these places. */
  readonly silent: Set<string>
  /** Milliseconds, in seconds, that access tokens live. */
  expiresIn: number | undefined
  /** The keys of bound tokens, their thumbprints by token; of access tokens and refresh tokens. */
  readonly bound: Map<string, string>
  /** What proofs have to say at the token endpoint. */
  nonce: string | undefined
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
    const page = self.pages.get(url.pathname)
    if (page !== undefined && self.pages.delete(url.pathname))
      return response.writeHead(page, { 'content-type': 'text/html' }).end('<h1>Not here</h1>')
    const key = url.pathname === '/token' ? await keyOf(request) : undefined
    if (url.pathname === '/token') {
      self.onToken?.()
      await self.delay
    }
    const answer = key instanceof Error ? refusalOf(key) : answerTo(url.pathname, form, key)
    const headers = { 'content-type': 'application/json', ...answer.headers }
    const text = JSON.stringify(answer.body ?? {})
    const isTorn = self.tears.delete(url.pathname)
    response.writeHead(answer.status, headers).end(isTorn ? text.slice(0, text.length / 2) : text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const proofs = new Set<string>()

  async function keyOf({ headers: { dpop } }: IncomingMessage): Promise<string | Error | undefined> {
    if (dpop === undefined) return undefined
    const expected = { method: 'POST', url: `${origin}/token`, nonce: self.nonce, seen: proofs }
    return thumbprintOf(dpop, expected).catch((error: Error) => error)
  }

  function refusalOf({ message }: Error): Answer {
    const error = self.nonce === undefined ? 'invalid_dpop_proof' : 'use_dpop_nonce'
    const headers = { ...(self.nonce !== undefined && { 'dpop-nonce': self.nonce }) }
    return { status: 400, headers, body: { error, error_description: message } }
  }

  function answerTo(place: string, form: Record<string, string>, key: string | undefined): Answer {
    if (place === `/.well-known/oauth-authorization-server${path}`)
      return { status: 200, body: self.metadata }
    if (place === '/register') return { status: 201, body: { ...form, client_id: `client-${randomUUID()}` } }
    if (place === '/authorize') return authorize(form)
    if (place !== '/token') return { status: 404 }
    return self.instead?.(form) ?? token(form, key)
  }

  function authorize(form: Record<string, string>): Answer {
    const code = randomUUID()
    codes.set(code, form)
    const location = new URL(form.redirect_uri ?? '')
    for (const [name, value] of Object.entries(self.redirect({ code, state: form.state, iss: self.issuer })))
      if (value !== undefined) location.searchParams.set(name, value)
    return { status: 302, headers: { location: location.href } }
  }

  function token(form: Record<string, string>, key: string | undefined): Answer {
    const type = form.grant_type
    if (type === 'client_credentials' || type?.endsWith('jwt-bearer'))
      return issue(form.scope ?? '', false, key)
    if (type === 'refresh_token') return rotate(form.refresh_token ?? '', key)
    const begun = codes.get(form.code ?? '')
    codes.delete(form.code ?? '')
    const challenge = createHash('sha256')
      .update(form.code_verifier ?? '')
      .digest('base64url')
    const fits = begun?.code_challenge === challenge && begun.redirect_uri === form.redirect_uri
    return fits ? issue(begun.scope ?? '', true, key) : { status: 400, body: { error: 'invalid_grant' } }
  }

  function rotate(old: string, key: string | undefined): Answer {
    const known = refresh.get(old)
    if (known === undefined || self.bound.get(old) !== key)
      return { status: 400, body: { error: 'invalid_grant' } }
    if (!known.used) {
      known.used = true
      return issue(known.scope, true, key)
    }
    self.reuses += 1
    refresh.clear()
    self.good.clear()
    return { status: 400, body: { error: 'invalid_grant' } }
  }

  function issue(scope: string, refreshable: boolean, key: string | undefined): Answer {
    const [access, again] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`]
    self.good.set(access, scope)
    if (refreshable) refresh.set(again, { scope, used: false })
    if (key !== undefined) for (const one of [access, again]) self.bound.set(one, key)
    const type = key === undefined ? 'Bearer' : 'DPoP'
    const more = { ...(refreshable && { refresh_token: again }), expires_in: self.expiresIn }
    return { status: 200, body: { access_token: access, token_type: type, ...more } }
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
    delay: undefined,
    onToken: undefined,
    pages: new Map(),
    silent: new Set(),
    expiresIn: 3600,
    bound: new Map(),
    nonce: undefined,
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
  /** What proofs have to say; undefined: nothing. It goes with each answer. */
  nonce: string | undefined
  /** What was wrong with proofs, or with the tokens that came with them or without. */
  readonly problems: string[]
  /** Answers calls of tools instead. */
  instead: ((seen: Seen) => unknown) | undefined
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
  const tools = [{ name: 'any', inputSchema: { type: 'object' } }]
  const useful = polite((seen) => {
    const isList = seen.message.method === 'tools/list'
    json(seen, result(seen, isList ? { tools } : { content: [{ type: 'text', text: 'in' }] }))
  })

  const proofs = new Set<string>()

  async function handle(seen: Seen): Promise<unknown> {
    const path = (seen.response.req as IncomingMessage).url ?? ''
    if (path === wellKnown) {
      const document = { resource: url, authorization_servers: [self.issuer], ...self.metadata }
      return json(seen, document)
    }
    if (path !== '/mcp') return status(seen, 404)
    if (self.instead !== undefined && seen.message.method === 'tools/call') return self.instead(seen)
    const [scheme = '', token = ''] = seen.headers.authorization?.split(' ') ?? []
    const problem = await problemOf(seen, scheme, token)
    if (self.nonce !== undefined) seen.response.setHeader('dpop-nonce', self.nonce)
    const scope = self.servers.map(({ good }) => good.get(token)).find((found) => found !== undefined)
    const where = `resource_metadata="${new URL(wellKnown, url).href}"`
    if (problem !== undefined) {
      self.problems.push(problem)
      const error = self.nonce === undefined ? 'invalid_dpop_proof' : 'use_dpop_nonce'
      return status(seen, 401, { 'www-authenticate': `DPoP error="${error}", Bearer ${where}` })
    }
    if (scope === undefined) return status(seen, 401, { 'www-authenticate': `Bearer ${where}` })
    const wanted = self.wants.get(String(seen.message.params?.name))
    if (wanted === undefined || scope.split(' ').includes(wanted)) return useful(seen)
    const why = `${scheme} error="insufficient_scope", scope="${wanted}", ${where}`
    return status(seen, 403, { 'www-authenticate': why })
  }

  async function problemOf(
    { method, headers }: Seen,
    scheme: string,
    token: string,
  ): Promise<string | undefined> {
    const bound = self.servers.map(({ bound }) => bound.get(token)).find((key) => key !== undefined)
    if (scheme !== 'DPoP') return bound === undefined ? undefined : 'a bound token came alone'
    const expected = { method, url, token, nonce: self.nonce, seen: proofs }
    try {
      const key = await thumbprintOf(headers.dpop, expected)
      return bound === undefined || key === bound ? undefined : 'the proof is of another key'
    } catch (error) {
      return (error as Error).message
    }
  }

  const self: GuardedServer = {
    ...raw,
    url,
    issuer: issuer.issuer,
    metadata: {},
    wants: new Map(),
    nonce: undefined,
    problems: [],
    instead: undefined,
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
