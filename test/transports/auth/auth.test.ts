import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { mount, serveHttp } from 'caduceus/transports'
import { RawClient } from '../../server/_client.js'
import { posted } from '../../server/_stateless.js'
import { suite } from '../../support/suite.js'
import { metadataUrl, refusalOf, startAuth, whoami } from './_auth.js'
import { resource, startAuthorizationServer } from './_authorization-server.js'

const test = suite('auth', { timeout: 15_000 })

test('without a token every route is 401 before the body, with resource and scopes', async (t) => {
  const { client, issuer } = await startAuth(t, { scopes: ['mcp:use'] })
  const told = `Bearer scope="mcp:use", resource_metadata="${metadataUrl}"`
  const raw = client(undefined, 'no-such-session')
  for (const [method, body] of [
    ['POST', 'this is no message'],
    ['GET', undefined],
    ['DELETE', undefined],
  ] as const) {
    const { status, headers } = await raw.send(method, body, raw.headers())
    assert.equal([status, headers['www-authenticate']], [401, told], method)
  }
  const { body, headers } = posted('tools/call', { name: 'whoami' })
  assert.is((await client().post(body, headers)).status, 401, 'a request without a session')
  raw.own = { authorization: 'Basic YWRhOmNhbmFyeQ==' }
  assert.equal(await refusalOf(raw), [401, told], 'another scheme')
  const query = client()
  query.url.search = `?access_token=${await issuer.issue({ scope: 'mcp:use' })}`
  assert.equal(await refusalOf(query), [401, told], 'a token in the query')
  assert.equal(issuer.asked, [], 'nobody was asked about nothing')
})

test('a tool sees the principal of the token, and never the token', async (t) => {
  const { issuer, client } = await startAuth(t)
  const token = await issuer.issue({ scope: 'read write', exp: 4_000_000_000, team: 'blue' })
  const { principal, headers } = JSON.parse(await (await client(token).open()).text('whoami'))
  const { iat, ...claims } = principal.claims
  assert.type(iat, 'number')
  assert.equal(
    { ...principal, claims },
    {
      issuer: issuer.issuer,
      subject: 'ada',
      clientId: 'app',
      scopes: ['read', 'write'],
      expiresAt: 4_000_000_005_000,
      claims: {
        iss: issuer.issuer,
        sub: 'ada',
        aud: resource,
        exp: 4_000_000_000,
        client_id: 'app',
        scope: 'read write',
        team: 'blue',
      },
    },
  )
  assert.ok(headers.includes('accept'))
  assert.not.ok(headers.includes('authorization'))
  const { body, headers: modern } = posted('tools/call', { name: 'whoami' })
  const stateless = await client(token).post(body, modern)
  const text = String(stateless.messages[0]?.result?.content?.[0]?.text)
  assert.is(JSON.parse(text).principal.subject, 'ada', 'a request without a session')
  assert.not.match(text, /authorization/)
})

test('a session belongs to issuer and subject, whatever their token; others get 404', async (t) => {
  const { issuer, client } = await startAuth(t)
  const ada = await client(await issuer.issue()).open()
  const later = client(await issuer.issue({ client_id: 'other', scope: 'more' }), ada.sessionId)
  assert.is((await later.ask('ping')).error, undefined)
  const bob = client(await issuer.issue({ sub: 'bob' }), ada.sessionId)
  assert.is((await bob.tell('notifications/initialized')).status, 404)
  const unknown = client(await issuer.issue({ sub: 'bob' }), 'no-such-session')
  assert.is((await unknown.tell('notifications/initialized')).status, 404)
})

test('a token without a required scope is 403; a scope may imply others', async (t) => {
  const auth = { scopes: ['mcp:use'], impliedScopes: { admin: ['write'], write: ['mcp:use'] } }
  const { client, issuer } = await startAuth(t, auth)
  const [status, told] = await refusalOf(client(await issuer.issue({ scope: 'read' })))
  assert.is(status, 403)
  assert.match(String(told), /^Bearer error="insufficient_scope", .*scope="mcp:use", resource_metadata="/)
  const admin = await client(await issuer.issue({ scope: 'admin' })).open()
  assert.equal(JSON.parse(await admin.text('whoami')).principal.scopes, ['admin', 'write', 'mcp:use'])
})

test('the metadata is public at both well-known places', async (t) => {
  const { server, issuer } = await startAuth(t, {
    scopes: ['mcp:use'],
    metadata: { resource_name: 'The files' },
  })
  for (const path of ['', '/mcp']) {
    const url = new URL(`/.well-known/oauth-protected-resource${path}`, server.url)
    const answer = await fetch(url, { headers: { origin: 'https://page.example' } })
    assert.is(answer.headers.get('access-control-allow-origin'), '*')
    assert.match(String(answer.headers.get('content-type')), /^application\/json/)
    assert.equal(await answer.json(), {
      resource,
      authorization_servers: [issuer.issuer],
      scopes_supported: ['mcp:use'],
      bearer_methods_supported: ['header'],
      resource_name: 'The files',
    })
    assert.is(await (await fetch(url, { method: 'HEAD' })).text(), '')
    assert.is((await fetch(url, { method: 'OPTIONS' })).status, 204)
    assert.is((await fetch(url, { method: 'POST' })).status, 405)
  }
  assert.is((await fetch(new URL('/.well-known/oauth-protected-resource/other', server.url))).status, 404)
})

test('a 2025-03-26 client looking for the authorization server is redirected', async (t) => {
  const { server, issuer } = await startAuth(t)
  const found = await fetch(new URL('/.well-known/oauth-authorization-server', server.url))
  assert.equal(await found.json(), { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/jwks` })
})

test('without auth nothing is published', async (t) => {
  const transport = serveHttp()
  const definition = defineServer({ name: 'test', version: '1', tools: [] })
  const server = await startServer(definition, { transport, logger: false })
  t.after(() => server.stop())
  assert.is((await fetch(new URL('/.well-known/oauth-protected-resource', server.url))).status, 404)
})

test('mounted in a framework: the framework publishes the metadata', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const mcp = mount({ auth: { resource, authorizationServers: [issuer.issuer] } })
  const definition = defineServer({ name: 'test', version: '1', tools: [whoami] })
  const server = await startServer(definition, { transport: mcp, logger: false })
  t.after(() => server.stop())
  const host = createServer((request, response) =>
    request.url?.startsWith('/.well-known/')
      ? mcp.metadataHandler(request, response)
      : mcp.handler(request, response),
  )
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    host.closeAllConnections()
    return new Promise((resolve) => host.close(resolve))
  })
  const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
  const published = await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)
  assert.equal(await published.json(), mcp.metadata)
  const raw = new RawClient(t, `${origin}/deep`)
  assert.is((await raw.tell('notifications/initialized')).status, 401)
  raw.own = { authorization: `Bearer ${await issuer.issue()}` }
  assert.is(JSON.parse(await (await raw.open()).text('whoami')).principal.subject, 'ada')
  const ask = (authorization: string) =>
    mcp.fetch(new Request(`${origin}/deep`, { method: 'POST', body: '{}', headers: { authorization } }))
  assert.is((await ask(`Bearer ${'a'.repeat(64 * 1024)}`)).status, 401)
  assert.is((await ask(`Bearer ${await issuer.issue()}`)).status, 415, 'let in')
  assert.is(mount().metadata, undefined)
})

test('a listener on your own server publishes the metadata and nothing else', async (t) => {
  const host = createServer((_request, response) => response.writeHead(418).end())
  const { server } = await startAuth(t, {}, { server: host })
  const at = async (path: string) => (await fetch(new URL(path, server.url))).status
  assert.equal(
    [
      await at('/.well-known/oauth-protected-resource'),
      await at('/.well-known/oauth-protected-resource/mcp'),
      await at('/.well-known/oauth-authorization-server'),
      await at('/else'),
    ],
    [200, 200, 418, 418],
  )
})

test.run()
