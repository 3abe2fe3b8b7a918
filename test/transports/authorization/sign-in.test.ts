// second tier: time
// shares a process
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import * as assert from 'uvu/assert'
import { memoryAuthStorage } from 'caduceus/client'
import { files, records, sealed, startServer } from 'caduceus/server'
import { crash, fakeClock, fakeIdentityProvider, until } from 'caduceus/testing'
import { mount, oidc, serveHttp, serveSse, serveWebSocket, signIn } from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import { suite } from '../../support/suite.js'
import { makeFolder } from '../../support/folder.js'
import { Browser, type Page } from './_browser.js'
import { shop, signedIn, start } from './_server.js'

const test = suite('sign in', { timeout: 20_000 })

const scopes = { write: 'Change the stock', erase: 'Erase orders' }

test('a client registers, its user signs in and agrees, and tools see who it is', async (t) => {
  const { resource, login } = await start(t)
  const { client, pages } = signedIn(t, resource)
  const {
    issuer,
    subject,
    clientId,
    scopes: granted,
    claims,
  } = JSON.parse((await client.callTool('whoami')).text)
  assert.equal([issuer, subject, granted, claims.email], [login.issuer, 'ada', ['mcp'], 'ada@example.com'])
  assert.match(clientId, /^[\w-]{10,}$/)
  assert.is(pages.length, 1)
  assert.match(String(pages[0]?.text), /wants to use <b>127\.0\.0\.1:\d+<\/b> as you: <b>Ada<\/b>/)
})

test('a client is told of all scopes, and its user is asked for them, once', async (t) => {
  const { resource } = await start(t, { scopes })
  const { client, pages } = signedIn(t, resource)
  await client.callTool('whoami')
  for (const text of ['Change the stock', 'Erase orders'])
    assert.ok(pages[0]?.text.includes(`<li>${text}</li>`), text)
  // what needs a scope is in no list without it
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'write'))
  assert.is((await client.callTool('write')).text, 'written')
  assert.is(pages.length, 1)
  const { origin } = new URL(resource)
  for (const path of ['oauth-protected-resource/mcp', 'oauth-authorization-server']) {
    const told = (await (await fetch(`${origin}/.well-known/${path}`)).json()) as Record<string, unknown>
    assert.equal(told.scopes_supported, ['mcp', 'write', 'erase'], path)
  }
  const { headers } = await fetch(resource, { method: 'POST' })
  assert.match(String(headers.get('www-authenticate')), /scope="mcp write erase"/)
})

test('whose tokens the provider has ended signs in there again, by the same browser', async (t) => {
  const { login, resource } = await start(t, { fake: { expiresIn: 61 } })
  const browser = new Browser()
  const first = signedIn(t, resource, undefined, { browser })
  const call = (one: typeof first) => one.client.callTool('credentials').catch((cause: Error) => cause)
  const accessTokenOf = (told: unknown): boolean => /accessToken/.test((told as { text?: string }).text ?? '')
  assert.ok(accessTokenOf(await call(first)))
  const logins = (): number => login.asked.filter((what) => what === 'authorize').length
  const before = logins()
  login.revoke()
  // less than a minute is left, so it is renewed
  await until(async () => !accessTokenOf(await call(first)))
  const again = signedIn(t, resource, undefined, { browser })
  assert.ok(accessTokenOf(await call(again)))
  assert.is(logins(), before + 1)
})

test('a right that came after the sign-in is asked for once it is needed', async (t) => {
  let may: string[] = []
  const { resource } = await start(t, { scopes, scopesOf: () => may })
  const { client, pages } = signedIn(t, resource)
  await client.callTool('whoami')
  may = ['write']
  assert.is((await client.callTool('write')).text, 'written')
  assert.is(pages.length, 2)
})

test('a user grants no scope that is not theirs', async (t) => {
  const { resource } = await start(t, {
    scopes,
    scopesOf: ({ subject }) => (subject === 'bob' ? ['write'] : []),
  })
  const { client, pages } = signedIn(t, resource)
  await client.callTool('whoami')
  // once more, as it may be theirs by now
  for (let n = 0; n < 3; n += 1) {
    const error = await client.callTool('write').catch((cause: Error) => cause)
    assert.match(String(error), /scope|write is not there|Unknown tool/)
  }
  assert.is(pages.length, 2)
  for (const { text } of pages) assert.not.match(text, /Change the stock/)
})

test('who may not come in, refuses, or is not signed in by the provider gets no token', async (t) => {
  const { resource, login } = await start(t, {
    allow: ({ email }) => email?.endsWith('@example.com') === true,
  })
  const told = async (decision = 'allow'): Promise<string> => {
    const { client } = signedIn(t, resource, () => decision)
    return client.callTool('whoami').then(({ text }) => text, String)
  }
  assert.match(await told('deny'), /access_denied.*the user has refused/)
  login.user = { subject: 'eve', email: 'eve@elsewhere.example' }
  assert.match(await told(), /access_denied.*this account may not use this server/)
  // whoever has an address that nobody has verified may be somebody else
  login.user = { subject: 'eve', email: 'ada@example.com', emailVerified: false }
  assert.match(await told(), /access_denied.*this account may not use this server/)
  login.user = null
  assert.match(await told(), /access_denied.*has failed: access_denied/)
  login.user = { subject: 'bob', email: 'bob@example.com' }
  assert.match(await told(), /"bob"/)
})

test('tokens end with the server in memory, and outlive it in files, with the login', async (t) => {
  const folder = makeFolder(t)
  const { resource, server, port, auth, login } = await start(t, { engine: files({ folder }) })
  const storage = memoryAuthStorage()
  const browser = new Browser()
  const first = signedIn(t, resource, undefined, { storage, browser })
  await first.client.callTool('whoami')
  await first.client.close()
  await server.stop()
  const again = await startServer(shop, {
    transport: serveHttp({ port, auth }),
    logger: false,
    engine: files({ folder }),
  })
  t.after(() => again.stop())
  const second = signedIn(t, resource, () => 'nobody is asked', { storage, browser })
  assert.match((await second.client.callTool('whoami')).text, /"ada"/)
  assert.is(second.pages.length, 0)
  // another client needs the user's consent, but no login: the browser is known
  const asked = login.asked.length
  const third = signedIn(t, resource, undefined, { browser })
  assert.match((await third.client.callTool('whoami')).text, /"ada"/)
  assert.equal([login.asked.length, third.pages.length], [asked, 1])
})

test('a token that has ended is renewed without the user', async (t) => {
  const { resource } = await start(t, { lifetimes: { accessToken: 1_000 } })
  const { client, pages } = signedIn(t, resource)
  const until = Date.now() + 1_300
  while (Date.now() < until) assert.match((await client.callTool('whoami')).text, /"ada"/)
  assert.is(pages.length, 1)
})

test('GitHub has no OpenID: an account is its number', async (t) => {
  const user = { subject: '583231', name: 'octocat', email: 'octo@example.com' }
  const { resource, login } = await start(t, {
    fake: { github: true, user, expiresIn: Number.POSITIVE_INFINITY },
  })
  const { client, pages } = signedIn(t, resource)
  const { issuer, subject, claims } = JSON.parse((await client.callTool('whoami')).text)
  assert.equal(
    [issuer, subject, claims.login, claims.email],
    [login.issuer, '583231', 'octocat', 'octo@example.com'],
  )
  assert.match(String(pages[0]?.text), /octocat<\/b>, signed in at GitHub/)
  const { text } = await client.callTool('credentials')
  assert.match(text, /^\{"accessToken":"token-[^"]+"\}$/)
})

test('a tool has the token of its user, renewed once for all who ask', async (t) => {
  const { resource, login } = await start(t, { fake: { expiresIn: 61 } })
  const { client } = signedIn(t, resource)
  const tokenOf = async (): Promise<string> =>
    JSON.parse((await client.callTool('credentials')).text).accessToken
  const first = await tokenOf()
  assert.match(first, /^token-/)
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const later = await Promise.all(Array.from({ length: 8 }, tokenOf))
  assert.is(new Set(later).size, 1)
  assert.is.not(later[0], first)
  assert.is(login.asked.filter((what) => what === 'refresh').length, 1)
  login.revoke()
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const refused = await client.callTool('credentials')
  assert.equal(
    [refused.isError, refused.text],
    [true, 'There are no credentials: the user has to sign in again.'],
  )
})

test('hosts find the metadata wherever they look, with addresses of the issuer alone', async (t) => {
  const { origin } = await start(t)
  for (const path of [
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/mcp',
    '/mcp/.well-known/openid-configuration',
  ]) {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    const response = await fetch(`${origin}${path}`, { headers })
    const found = (await response.json()) as Record<string, string>
    assert.is(found.issuer, origin, path)
    assert.is(found.authorization_endpoint, `${origin}/authorize`)
    assert.is(found.registration_endpoint, `${origin}/register`)
    assert.is(response.headers.get('access-control-allow-origin'), '*')
    assert.not.match(JSON.stringify(found), /evil/)
  }
  const own = await (await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)).json()
  assert.equal(own, {
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
    scopes_supported: ['mcp'],
    bearer_methods_supported: ['header'],
  })
})

test('an `allow` that never answers keeps nobody waiting', async (t) => {
  const clock = fakeClock()
  let asked = (): void => {}
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const allow = (): Promise<boolean> => {
    asked()
    return new Promise(() => {})
  }
  const { resource } = await start(t, { allow, clock })
  const pages: Page[] = []
  const { client } = signedIn(t, resource, (page) => {
    pages.push(page)
    return 'allow'
  })
  const told = client.callTool('whoami').then(({ text }) => text, String)
  await isAsked
  await clock.advance(10_000)
  await told
  assert.is(pages[0]?.status, 503)
  assert.match(String(pages[0]?.text), /not available at the moment/)
})

test('a listener that dies comes back with the logins that there were', async (t) => {
  const { resource, server } = await start(t)
  const { client, pages } = signedIn(t, resource)
  await client.callTool('whoami')
  await crash(server, { part: 'transport' })
  await until(async () => (await client.callTool('whoami').catch(() => undefined)) !== undefined)
  assert.is(pages.length, 1)
})

test('a client need not repeat the only address that it has registered', async (t) => {
  const { origin } = await start(t)
  const body = JSON.stringify({
    redirect_uris: ['https://app.example/cb'],
    token_endpoint_auth_method: 'none',
  })
  const headers = { 'content-type': 'application/json' }
  const registered = await fetch(`${origin}/register`, { method: 'POST', headers, body })
  const { client_id } = (await registered.json()) as { client_id: string }
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
  const query = new URLSearchParams({ client_id, response_type: 'code', ...challenge })
  const page = await new Browser().open(`${origin}/authorize?${query}`)
  assert.match(page.text, /Access goes to <b>app\.example<\/b>/)
})

test('within a web server of yours, its handler has the pages, and the rest is yours', async (t) => {
  const login = await fakeIdentityProvider()
  t.after(() => login.close())
  const { issuer, clientId, clientSecret } = login
  const app = express()
  const listening = app.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.after(() => {
    listening.closeAllConnections()
    listening.close()
  })
  const origin = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  const resource = `${origin}/api/mcp`
  const mcp = mount({ auth: signIn({ with: oidc({ issuer, clientId, clientSecret }), resource }) })
  app.use(mcp.authHandler)
  app.use('/api/mcp', mcp.handler)
  app.use((_request, response) => void response.send('mine'))
  const server = await startServer(shop, { transport: mcp, logger: false })
  t.after(() => server.stop())
  const { client, pages } = signedIn(t, resource)
  assert.match((await client.callTool('whoami')).text, /"ada"/)
  assert.is(pages.length, 1)
  assert.is(await (await fetch(`${origin}/other`)).text(), 'mine')
})

test('what cannot work is told when the program starts', async () => {
  const provider = oidc({ issuer: 'http://127.0.0.1:1', clientId: 'id', clientSecret: 'secret' })
  const port = await freePort()
  const auth = signIn({ with: provider, resource: `http://127.0.0.1:${port}/mcp` })
  for (const serve of [() => serveSse({ auth }), () => serveWebSocket({ auth })])
    assert.throws(serve, /signIn\(\) is for serveHttp\(\) and mount\(\)/)
  const transport = serveHttp({ port, auth })
  const engine = sealed({ keys: ['k'.repeat(32)] })
  const error = await startServer(shop, { transport, engine, logger: false }).catch((cause: Error) => cause)
  assert.match(String(error), /signIn: engine: expected one that keeps logins, which sealed\(\) and records/)
  const shared = records({
    shared: true,
    load: async () => undefined,
    save: async () => {},
    delete: async () => {},
  })
  const other = await startServer(shop, { transport, engine: shared, logger: false }).catch(
    (cause: Error) => cause,
  )
  assert.match(String(other), /signIn: engine: expected one that keeps logins/)
  const bad: (() => unknown)[] = [
    () => signIn({ with: {} as never, resource: 'https://mcp.example.com/mcp' }),
    () => signIn({ with: provider, resource: 'http://mcp.example.com/mcp' }),
    () => signIn({ with: provider, resource: 'https://mcp.example.com/mcp', scopes: { openid: 'x' } }),
    () => signIn({ with: provider, resource: 'https://mcp.example.com/mcp', scopes: ['a'] as never }),
    () => oidc({ issuer: 'https://x.example', clientId: 'id', clientSecret: '' }),
    () => oidc({ issuer: 'https://x.example', clientId: 'id', clientSecret: 's', scopes: ['email'] }),
  ]
  for (const make of bad) assert.throws(make, (cause: { code: string }) => cause.code === 'BAD_OPTION')
  assert.throws(
    () => oidc({ issuer: 'https://x.example', clientId: 'id', clientSecret: ['s3cret'] as never }),
    (cause: Error) => !cause.message.includes('s3cret'),
  )
})

test.run()
