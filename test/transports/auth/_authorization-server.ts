import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { TestContext } from '../../support/suite.js'

/** What a token says, unless a test says otherwise. */
export type Claims = { readonly [claim: string]: unknown }

/** How a token is signed. */
export type Signing = {
  readonly kid?: string
  readonly typ?: string
  readonly alg?: string
  readonly key?: CryptoKey | Uint8Array
}

/** An authorization server over real HTTP: metadata, keys, introspection. */
export type AuthorizationServer = {
  readonly issuer: string
  /** The requests so far, as `GET /jwks`. */
  readonly asked: string[]
  /** Called with each request. */
  onAsked: () => void
  /** What the introspection endpoint was sent. */
  readonly introspected: { readonly authorization: string | undefined; readonly token: string | null }[]
  /** What the introspection endpoint answers, by token; anything else is not active. */
  readonly opaque: Map<string, Claims>
  /** The public key that tokens are signed with now. */
  readonly publicKey: () => JWK
  /** While true every request is answered 500. */
  broken: boolean
  /** While true requests are taken and never answered. */
  silent: boolean
  /** Cuts all connections. */
  hangUp(): void
  /** Says more in its metadata. */
  metadata: Claims
  /** A token of its own: good for `resource`, for 5 min, of ada, unless the claims say otherwise; undefined leaves one out. */
  issue(claims?: Claims, signing?: Signing): Promise<string>
  /** Has another key from now on; only that one is published. */
  rotate(): Promise<void>
  /** A second key is published beside the first; tokens go on being signed with the first. */
  addKey(): Promise<void>
}

/** What tokens are for in these tests. */
export const resource = 'https://mcp.example.com/mcp'

/** Starts one on a free port and ends it with the test. */
export async function startAuthorizationServer(t: Pick<TestContext, 'after'>): Promise<AuthorizationServer> {
  let [number, keys] = [0, [] as Awaited<ReturnType<typeof makeKey>>[]]
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    self.asked.push(`${request.method} ${request.url}`)
    self.onAsked()
    if (self.silent) return
    if (self.broken) return void response.writeHead(500).end('canary of a broken page')
    const document = await documentOf(request)
    if (document === undefined) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  }

  async function documentOf(request: IncomingMessage): Promise<object | undefined> {
    if (request.url === '/.well-known/oauth-authorization-server')
      return { issuer, jwks_uri: `${issuer}/jwks`, ...self.metadata }
    if (request.url === '/jwks') return { keys: keys.map(({ jwk }) => jwk) }
    if (request.url !== '/introspect' || request.method !== 'POST') return undefined
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const token = new URLSearchParams(body).get('token')
    self.introspected.push({ authorization: request.headers.authorization, token })
    const found = self.opaque.get(String(token))
    return found === undefined ? { active: false } : { active: true, ...found }
  }

  async function another() {
    number += 1
    return makeKey(`key-${number}`)
  }

  const self: AuthorizationServer = {
    issuer,
    asked: [],
    onAsked: () => {},
    introspected: [],
    opaque: new Map(),
    publicKey: () => keys[0]?.jwk ?? {},
    broken: false,
    silent: false,
    hangUp: () => server.closeAllConnections(),
    metadata: {},
    async issue(claims = {}, { kid, typ, alg = 'ES256', key } = {}) {
      const now = Math.floor(Date.now() / 1_000)
      const usual = { iss: issuer, sub: 'ada', aud: resource, exp: now + 300, iat: now, client_id: 'app' }
      const [first] = keys
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({
          alg,
          ...(kid === '' ? {} : { kid: kid ?? String(first?.jwk.kid) }),
          ...(typ !== undefined && { typ }),
        })
        .sign(key ?? (first as NonNullable<typeof first>).privateKey)
    },
    async rotate() {
      keys = [await another()]
    },
    async addKey() {
      keys = [...keys, await another()]
    },
  }
  await self.rotate()
  return self
}

async function makeKey(kid: string): Promise<{ readonly privateKey: CryptoKey; readonly jwk: JWK }> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}
