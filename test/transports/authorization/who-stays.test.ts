import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemWorld } from 'caduceus/runtime'
import { files, startServer } from 'caduceus/server'
import { fakeIdentityProvider } from 'caduceus/testing'
import { type IdentityProvider, mount, oauth2, oidc, serveHttp, signIn } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { makeFolder } from '../../support/folder.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { attack, isBack, type Json } from './_attack.js'
import { Browser } from './_browser.js'
import { shop, signedIn, start } from './_server.js'

const test = suite('who stays signed in', { timeout: 20_000 })

/** A client whose user has signed in, and what it does with its tokens. */
async function granted(t: TestContext, options: Parameters<typeof attack>[1] = {}) {
  const found = await attack(t, {
    lifetimes: { accessToken: 60_000 },
    ...options,
  })
  const { form } = await found.codeOf(await found.register(), new Browser(), {
    scope: 'mcp write',
  })
  const { body } = await found.token(form)
  const renew = (refreshToken = '', more: Json = {}) =>
    found.token({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: form.client_id,
      ...more,
    })
  return { ...found, renew, form, first: body }
}

/** The clock of this machine, which the test sets forward. */
function ahead() {
  const time = { ms: 0 }
  return { time, clock: { ...systemWorld, date: () => Date.now() + time.ms } }
}

test('who may not come in any more, or has lost a scope, is found at a renewal', async (t) => {
  const may = { enter: true, scopes: ['write'], isAway: false }
  const { time, clock } = ahead()
  const { renew, first, status } = await granted(t, {
    clock,
    scopes: { write: 'Write' },
    allow() {
      if (may.isAway) throw new Error('the directory is away')
      return may.enter
    },
    scopesOf: () => may.scopes,
  })
  assert.is(first.scope, 'mcp write')
  may.scopes = []
  const second = await renew(first.refresh_token)
  assert.equal([second.status, second.body.scope], [200, 'mcp'])
  may.scopes = ['write']
  time.ms += 42_000
  // who cannot be asked about may be let in: the token is as good as before
  may.isAway = true
  const away = await renew(second.body.refresh_token)
  assert.equal([away.status, away.body.error], [503, 'temporarily_unavailable'])
  may.isAway = false
  const third = await renew(second.body.refresh_token)
  assert.equal([third.status, third.body.scope], [200, 'mcp write'])
  time.ms += 42_000
  may.enter = false
  assert.is((await renew(third.body.refresh_token)).body.error, 'invalid_grant')
  // and with it all that was granted ends
  assert.is(await status(third.body.access_token), 401)
  may.enter = true
  assert.is((await renew(third.body.refresh_token)).body.error, 'invalid_grant')
})

test('a user is signed out by hand: of all clients, for good, until they come again', async (t) => {
  const { auth, renew, first, status, resource, login } = await granted(t)
  const { client, pages } = signedIn(t, resource)
  const { issuer, subject } = JSON.parse((await client.callTool('whoami')).text)
  await auth.signOut({ issuer, subject: 'somebody else' })
  assert.is(await status(first.access_token), 400)
  await auth.signOut({ issuer, subject })
  assert.is(await status(first.access_token), 401)
  assert.is((await renew(first.refresh_token)).body.error, 'invalid_grant')
  const before = login.asked.length
  assert.match((await client.callTool('whoami')).text, /"ada"/)
  assert.equal([pages.length, login.asked.length > before], [2, true])
  assert.is(await status(first.access_token), 401)
  assert.is((await renew(first.refresh_token)).body.error, 'invalid_grant')
})

test('a token that was made a moment ago stays: the one before it is good as well', async (t) => {
  const { time, clock } = ahead()
  const { renew, first, status } = await granted(t, { clock })
  const second = await renew(first.refresh_token)
  time.ms += 30_000
  const third = await renew(second.body.refresh_token)
  assert.equal([third.status, third.body.refresh_token], [200, second.body.refresh_token])
  assert.is(await status(third.body.access_token), 400)
  time.ms += 11_000
  const fourth = await renew(second.body.refresh_token)
  assert.is(fourth.status, 200)
  assert.is.not(fourth.body.refresh_token, second.body.refresh_token)
})

test('paths of others are theirs: a slash more, another place, another issuer', async (t) => {
  const { origin } = await start(t)
  for (const path of ['/authorize/', '/authorize/a/b', '/register/', '/token//', '/Authorize']) {
    const { status } = await fetch(`${origin}${path}`, { redirect: 'manual' })
    assert.is(status, 404, path)
  }
  const other = await fetch(`${origin}/auth/realms/x/.well-known/openid-configuration`)
  assert.is(other.status, 404)
})

test('addresses are right beside another listener, and within a framework', async (t) => {
  const { issuer, clientId, clientSecret, close } = await fakeIdentityProvider()
  t.after(close)
  const web = createServer((_request, response) => void response.end('mine'))
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.after(() => web.close())
  const origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  const resource = `${origin}/mcp`
  const auth = signIn({
    with: oidc({ issuer, clientId, clientSecret }),
    resource,
  })
  const server = await startServer(shop, {
    transport: serveHttp({ server: web, auth }),
    logger: false,
  })
  t.after(() => server.stop())
  const { client } = signedIn(t, resource)
  assert.match((await client.callTool('whoami')).text, /"ada"/)
  assert.is(await (await fetch(`${origin}/other`)).text(), 'mine')
  const mcp = mount({
    auth: signIn({ with: oidc({ issuer, clientId, clientSecret }), resource }),
  })
  const mounted = await startServer(shop, { transport: mcp, logger: false })
  t.after(() => mounted.stop())
  const framework = createServer((request, response) => {
    // as Express does
    Object.assign(request, { originalUrl: request.url, baseUrl: '' })
    mcp.authHandler(request, response, () => void response.end('mine'))
  })
  framework.listen(0, '127.0.0.1')
  await once(framework, 'listening')
  t.after(() => framework.close())
  const { port } = framework.address() as AddressInfo
  const found = await fetch(`http://127.0.0.1:${port}/mcp/.well-known/openid-configuration`)
  assert.is(((await found.json()) as Json).authorization_endpoint, `${origin}/authorize`)
})

test('a redirect of the provider takes no token of a user along', async (t) => {
  const login = await fakeIdentityProvider()
  t.after(() => login.close())
  const seen: string[] = []
  const elsewhere = createServer((request, response) => {
    seen.push(String(request.headers.authorization))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ sub: 'mallory' }))
  })
  elsewhere.listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  t.after(() => elsewhere.close())
  const { port } = elsewhere.address() as AddressInfo
  const asked: string[] = []
  const api = createServer((request, response) => {
    asked.push(String(request.headers.authorization))
    response.writeHead(302, { location: `http://localhost:${port}/me` }).end()
  })
  api.listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => api.close())
  const { issuer, clientId, clientSecret } = login
  const provider = oauth2({
    ...{
      clientId,
      clientSecret,
      authorizeUrl: `${issuer}/authorize`,
      tokenUrl: `${issuer}/token`,
    },
    async userInfo(ask) {
      const found = (await ask(`http://127.0.0.1:${(api.address() as AddressInfo).port}/me`)) as Json
      return { subject: found.sub ?? '' }
    },
  })
  const warnings = heard<string>()
  const listener = (warning: Error): void => warnings.add(warning.message)
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  const { register, begin } = await attack(t, { provider })
  const page = await new Browser().open(begin(await register()).url, isBack)
  assert.is(page.status, 500)
  assert.match(asked.join(), /^Bearer token-/)
  assert.equal(seen, [])
  // whoever can mend it is told
  assert.match(await warnings.next(), /^a login has failed: http:\S+\/me redirects more than 0 times/)
})

test('two tenants of one host are two providers, though their users have the same ids', async (t) => {
  const login = await fakeIdentityProvider()
  t.after(() => login.close())
  const { issuer, clientId, clientSecret } = login
  const tenant = (path: string, own = {}) =>
    oauth2({
      ...{ clientId, clientSecret, tokenUrl: `${issuer}/token`, ...own },
      authorizeUrl: `${issuer.replace('http', 'HTTP')}/authorize${path}`,
      userInfo: async () => ({ subject: '7' }),
    })
  const engine = files({ folder: await makeFolder(t) })
  const open = (provider: IdentityProvider, port?: number) =>
    attack(t, { engine, provider, ...(port !== undefined && { port }) })
  const first = await open(tenant('?of=a'))
  const { port } = first
  const browser = new Browser()
  const client = await first.register()
  const { body } = await first.token((await first.codeOf(client, browser)).form)
  const { client: host } = signedIn(t, first.resource)
  const principal = JSON.parse((await host.callTool('whoami')).text)
  assert.equal([principal.issuer, principal.subject], [`${issuer}/authorize?of=a`, '7'])
  await first.server.stop()
  const second = await open(tenant('?of=b'), port)
  assert.is(await second.status(body.access_token), 401)
  // nor is a browser of one a browser of the other
  const before = browser.visited.length
  await browser.open(second.begin(client).url, isBack)
  assert.ok(browser.visited.slice(before).some((url) => url.href.startsWith(`${issuer}/authorize?of=b`)))
  await second.server.stop()
  // who has moved says whose users they are
  const third = await open(tenant('', { issuer: `${issuer}/authorize?of=a` }), port)
  assert.is(await third.status(body.access_token), 400)
})

test('what hosts say for other servers is left out', async (t) => {
  const { register, codeOf, token } = await attack(t)
  const grants = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']
  const client = await register({ grant_types: grants, scope: 'repo' })
  const more = {
    scope: 'openid mcp',
    nonce: 'n',
    max_age: '60',
    response_mode: 'form_post',
  }
  const { form } = await codeOf(client, new Browser(), more)
  assert.is((await token(form)).status, 200)
})

test.run()
