import { request as httpRequest } from 'node:http'
import { generateKeyPair, UnsecuredJWT } from 'jose'
import * as assert from 'uvu/assert'
import { systemWorld, type World } from 'caduceus/runtime'
import type { Server } from 'caduceus/server'
import {
  type AuthOptions,
  type ConnectionEvent,
  jwt,
  serveHttp,
  subscribeTransport,
  TransportError,
} from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { metadataUrl, refusalOf, startAuth } from './_auth.js'
import { resource, startAuthorizationServer } from './_authorization-server.js'

const test = suite('auth tokens', { timeout: 15_000 })

test('every bad token is refused, and all of them cost one fetch of the keys', async (t) => {
  const { issuer, client, server } = await startAuth(t)
  const now = Math.floor(Date.now() / 1_000)
  const { privateKey: foreign } = await generateKeyPair('ES256')
  const secret = new TextEncoder().encode(JSON.stringify(issuer.publicKey()))
  const usual = { iss: issuer.issuer, sub: 'ada', aud: resource, exp: now + 300 }
  const good = await issuer.issue()
  const bad: { readonly [what: string]: string } = {
    'alg none': new UnsecuredJWT(usual).encode(),
    'HS256 with the public key': await issuer.issue({}, { alg: 'HS256', key: secret }),
    'a foreign key under a known name': await issuer.issue({}, { key: foreign }),
    'another audience': await issuer.issue({ aud: 'https://other.example/mcp' }),
    'a longer audience': await issuer.issue({ aud: [`${resource}/deep`, 'https://mcp.example.com'] }),
    'no audience': await issuer.issue({ aud: undefined }),
    'another issuer': await issuer.issue({ iss: 'https://evil.example' }),
    'another issuer by a slash': await issuer.issue({ iss: `${issuer.issuer}/` }),
    expired: await issuer.issue({ exp: now - 60 }),
    'no expiry': await issuer.issue({ exp: undefined }),
    'not yet valid': await issuer.issue({ nbf: now + 60 }),
    nobody: await issuer.issue({ sub: undefined }),
    'bound to a key': await issuer.issue({ cnf: { jkt: 'x' } }),
    'another kind of JWT': await issuer.issue({}, { typ: 'oauth-id-jag+jwt' }),
    garbage: 'not-a-token',
    'cut off': good.slice(0, -5),
    'changed claims': good.replace(/\.[^.]+\./, (claims) => `${claims.slice(0, -3)}AA.`),
    long: 'a'.repeat(15_000),
  }
  for (const [what, token] of Object.entries(bad)) {
    const [status, told] = await refusalOf(client(token))
    assert.is(status, 401, what)
    assert.match(String(told), /^Bearer error="invalid_token", error_description="[a-z ,]+"/, what)
    assert.ok(String(told).endsWith(`resource_metadata="${metadataUrl}"`), what)
  }
  const flood = Array.from({ length: 50 }, async (_, n) =>
    refusalOf(client(await issuer.issue({}, { kid: `k${n}` }))),
  )
  for (const [status] of await Promise.all(flood)) assert.is(status, 401)
  assert.equal(issuer.asked.filter((asked) => asked === 'GET /jwks').length, 1)
  assert.is(await longHeader(server, 64 * 1024), 401)
  assert.is((await client(good).open()).revision, '2025-11-25')
  assert.equal(issuer.asked, ['GET /.well-known/oauth-authorization-server', 'GET /jwks'])
})

test('a malformed Authorization header is 400', async (t) => {
  const { client } = await startAuth(t)
  for (const authorization of ['Bearer', 'Bearer ', 'bearer a b', 'Bearer a,b', 'Bearer ä'.normalize()]) {
    const raw = client()
    raw.own = { authorization }
    const [status, told] = await refusalOf(raw)
    assert.is(status, 400, authorization)
    assert.match(String(told), /^Bearer error="invalid_request"/, authorization)
  }
})

test('several Authorization headers are 400, whatever is in them', async (t) => {
  const { server, issuer } = await startAuth(t)
  const good = `Bearer ${await issuer.issue()}`
  for (const all of [
    [good, good],
    [good, 'Bearer eve'],
    ['Bearer eve', good],
  ]) {
    const status = await new Promise((resolve, reject) => {
      const headers = ['host', '127.0.0.1', ...all.flatMap((one) => ['authorization', one])]
      httpRequest(String(server.url), { method: 'POST', headers, agent: false }, (response) => {
        resolve(response.resume().statusCode)
      })
        .on('error', reject)
        .end()
    })
    assert.is(status, 400)
  }
})

test('the token scheme is case-insensitive, and any of several keys may sign', async (t) => {
  const { client, issuer } = await startAuth(t, {})
  await issuer.addKey()
  const raw = client()
  raw.own = {
    authorization: `bEARER ${await issuer.issue({ aud: ['https://x.example', resource] }, { typ: 'at+jwt' })}`,
  }
  await raw.open()
  await client(await issuer.issue({ scp: ['a'] }, { kid: '' })).open()
  const { privateKey: foreign } = await generateKeyPair('ES256')
  assert.is((await refusalOf(client(await issuer.issue({}, { kid: '', key: foreign }))))[0], 401)
})

test('an unreachable issuer is 503, not 401, and one with a wrong name is refused', async (t) => {
  const { client, issuer } = await startAuth(t)
  const token = await issuer.issue()
  issuer.broken = true
  const { status, headers, body } = await client(token).tell('notifications/initialized')
  assert.equal([status, headers['retry-after'], headers['www-authenticate']], [503, '1', undefined])
  assert.not.match(body, /canary|127\.0\.0\.1/)
  const other = await startAuth(t)
  other.issuer.metadata = { issuer: 'https://evil.example' }
  assert.is((await refusalOf(other.client(await other.issuer.issue())))[0], 503)
})

test('the operator is told why a token was refused, without the token', async (t) => {
  const { client, issuer } = await startAuth(t)
  const events = heard<ConnectionEvent>()
  t.after(subscribeTransport('connection', (event) => event.type === 'refused' && events.add(event)))
  const why = async (token?: string) => {
    await refusalOf(client(token))
    const { status, problem } = await events.next()
    return [status, problem]
  }
  assert.equal(await why(), [401, 'no token came'])
  issuer.broken = true
  const [status, problem] = await why(await issuer.issue())
  assert.is(status, 503)
  assert.match(String(problem), /^http:\/\/127\.0\.0\.1:\d+\/\.well-known\/openid-configuration: status 500$/)
  const other = await startAuth(t)
  await refusalOf(other.client(await other.issuer.issue({ exp: 1 })))
  assert.is((await events.next()).problem, 'the token has expired')
})

test('a silent issuer delays its own requests only, up to their timeout', async (t) => {
  const { client, issuer } = await startAuth(t, {}, { timeouts: { authenticate: 50 } })
  issuer.silent = true
  assert.is((await refusalOf(client(await issuer.issue())))[0], 503)
})

test('keys and algorithms can be configured', async (t) => {
  const other = await startAuthorizationServer(t)
  const jwks = { keys: [other.publicKey()] }
  const verify = jwt({ issuer: other.issuer, jwks, audience: ['api', 'x'] })
  const { client } = await startAuth(t, { verify })
  await client(await other.issue({ aud: 'api' })).open()
  assert.is((await refusalOf(client(await other.issue())))[0], 401, 'the resource is no audience now')
  assert.equal(other.asked, [])
  const onlyRsa = await startAuth(t, { verify: jwt({ issuer: other.issuer, jwks, algorithms: ['RS256'] }) })
  assert.is((await refusalOf(onlyRsa.client(await other.issue())))[0], 401)
  const symmetric = jwt({
    issuer: other.issuer,
    jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }] },
  })
  const forged = await other.issue({}, { alg: 'HS256', key: new TextEncoder().encode('secret'), kid: '' })
  assert.is((await refusalOf((await startAuth(t, { verify: symmetric })).client(forged)))[0], 401)
})

test('a checked token is valid for its resource only and until it expires', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const verify = jwt({ issuer: issuer.issuer, clockTolerance: 0 })
  const begin = Date.now()
  const time = { passed: 0 }
  const world: World = { ...systemWorld, now: () => time.passed, date: () => begin + time.passed }
  const one = await startAuth(t, { verify }, {}, world)
  const other = await startAuth(t, { verify, resource: 'https://other.example/mcp' }, {}, world)
  const exp = Math.floor(begin / 1_000) + 300
  const token = await issuer.issue({ exp })
  await one.client(token).open()
  assert.is((await refusalOf(other.client(token)))[0], 401)
  time.passed = exp * 1_000 - 1 - begin
  assert.is((await refusalOf(one.client(token, 'no-such-session')))[0], 404)
  time.passed += 1
  const [status, told] = await refusalOf(one.client(token, 'no-such-session'))
  assert.is(status, 401)
  assert.match(String(told), /"the token has expired"/, String(told))
})

test('a custom token check may accept, refuse with a message or crash', async (t) => {
  const verify: AuthOptions['verify'] = async (token, use) => {
    assert.is(use.resource, resource)
    assert.instance(use.signal, AbortSignal)
    if (token === 'unknown') return undefined
    if (token === 'told') throw new TransportError('UNAUTHORIZED', 'come back "tomorrow"\r\nX: y')
    if (token === 'old') return { issuer: 'x', subject: 'ada', expiresAt: 1 }
    if (token === 'broken') throw new Error('canary')
    return { issuer: 'x', subject: token }
  }
  const { client } = await startAuth(t, {
    verify,
    authorizationServers: ['https://a.example', 'https://b.example'],
  })
  const ada = await client('ada').open()
  assert.equal(JSON.parse(await ada.text('whoami')).principal, { issuer: 'x', subject: 'ada', scopes: [] })
  assert.equal(await refusalOf(client('told')), [
    401,
    `Bearer error="invalid_token", error_description="come back ?tomorrow???X: y", resource_metadata="${metadataUrl}"`,
  ])
  for (const token of ['unknown', 'old']) assert.is((await refusalOf(client(token)))[0], 401, token)
  const broken = await client('broken').tell('notifications/initialized')
  assert.is(broken.status, 500)
  assert.not.match(broken.body, /canary/)
  assert.is(await ada.text('whoami').then(() => 'still there'), 'still there')
})

test('auth options that protect nothing are refused at once', () => {
  const good = { resource, authorizationServers: ['https://as.example'] }
  const refused = (auth: object, problem: RegExp) =>
    assert.throws(() => serveHttp({ auth: { ...good, ...auth } as AuthOptions }), problem)
  for (const bad of ['mcp', 'http://mcp.example.com/', 'https://a.example/#x', 'https://u:p@a.example/', 1])
    refused({ resource: bad }, /auth\.resource: expected an https address/)
  refused({ authorizationServers: [] }, /auth\.authorizationServers: expected/)
  refused({ authorizationServers: ['https://a.example', 'https://b.example'] }, /auth\.verify: expected/)
  refused({ verify: 'jwt' }, /auth\.verify: expected/)
  refused({ scopes: ['a b'] }, /auth\.scopes: expected/)
  refused({ scopesSupported: ['offline_access'] }, /offline_access/)
  refused({ impliedScopes: { a: 'b' } }, /auth\.impliedScopes\.a: expected/)
  refused({ metadata: { resource: 'x' } }, /auth\.metadata: expected/)
  refused({ realm: 'x' }, /realm: expected an option among/)
  assert.throws(
    () => serveHttp({ auth: good, authenticate: () => undefined }),
    /authenticate: expected nothing/,
  )
  assert.throws(
    () => jwt({ issuer: 'https://a.example', algorithms: ['HS256'] }),
    /jwt\.algorithms: expected/,
  )
  for (const clockTolerance of [600_001, Number.POSITIVE_INFINITY])
    assert.throws(
      () => jwt({ issuer: 'https://a.example', clockTolerance }),
      /jwt\.clockTolerance: expected 600000 ms at most/,
    )
  assert.throws(() => jwt({ issuer: 'https://a.example', jwks: 'http://a.example' }), /jwt\.jwks: expected/)
  try {
    serveHttp({ auth: { ...good, resource: 'https://user:canary@a.example/' } })
  } catch (error) {
    assert.not.match(String(error), /canary/)
  }
})

function longHeader(server: Server, bytes: number): Promise<number> {
  const headers = { authorization: `Bearer ${'a'.repeat(bytes)}` }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(String(server.url), { method: 'POST', headers, agent: false }, (response) => {
      response.resume()
      resolve(Number(response.statusCode))
    })
    sent.on('error', reject)
    sent.end()
  })
}

test.run()
