// second tier: time
// shares a process
import { once } from 'node:events'
import { request } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import { type AddressInfo, createServer } from 'node:net'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import { files } from 'caduceus/server'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http, oidc } from 'caduceus/transports'
import { makeFolder } from '../../support/folder.js'
import { suite, type TestContext } from '../../support/suite.js'
import { makeProofKey, prove } from '../auth/_proof.js'
import { attack, back, isBack, type Json } from './_attack.js'
import { Browser, type Page } from './_browser.js'
import { signedIn } from './_server.js'

// the attacks of RFC 9700 and of the specification's page on security, one test each

const test = suite('attacks on the sign-in', { timeout: 20_000 })

test('CSRF on the callback: a login that another browser began is not finished here', async (t) => {
  const { register, begin, origin, login } = await attack(t)
  const attacker = new Browser()
  const { url } = begin(await register())
  // the attacker signs in as themselves, and stops before the callback
  const stopped = await attacker.open(url, ({ pathname }) => pathname === '/sign-in/callback')
  const victim = new Browser()
  const page = await victim.open(stopped.url)
  assert.is(page.status, 400)
  assert.match(page.text, /was begun in another browser/)
  assert.equal(login.asked, ['authorize'])
  // and the state is used up with it
  assert.is((await attacker.open(stopped.url)).status, 400)
  for (const odd of ['', '?state=', '?state=made-up&code=x', '?error=access_denied'])
    assert.is((await new Browser().open(`${origin}/sign-in/callback${odd}`)).status, 400)
})

test('servers at one host name are gone through side by side: cookies know no ports', async (t) => {
  const browser = new Browser()
  const both = [await attack(t), await attack(t)]
  const pages: Page[] = []
  for (const { register, begin } of both) pages.push(await browser.open(begin(await register()).url, isBack))
  for (const page of pages) assert.ok(isBack((await browser.press(page, 'allow', isBack)).url), page.text)
})

test('session hijack: a page of the login is of no use in another browser', async (t) => {
  const { register, begin } = await attack(t)
  const owner = new Browser()
  const page = await owner.open(begin(await register()).url, isBack)
  assert.match(page.text, /Allow access/)
  const stranger = new Browser()
  assert.is((await stranger.open(page.url)).status, 400)
  assert.is((await stranger.press(page, 'allow', isBack)).status, 400)
})

test('session swap: nobody signs in for an authorization that another browser began', async (t) => {
  const { origin, register, begin } = await attack(t)
  const attacker = new Browser()
  const isProvider = (url: URL): boolean => url.origin !== origin
  await attacker.open(begin(await register()).url, isProvider)
  const page = attacker.visited.find(({ pathname }) => pathname.startsWith('/sign-in/'))
  const uid = page?.pathname.slice('/sign-in/'.length) ?? ''
  const victim = new Browser()
  // over https its name begins with __Host-: no other host can set it
  victim.take(attacker, (name) => name !== 'sign-in')
  for (const place of [`/sign-in/${uid}`, `/authorize/${uid}`])
    assert.is((await victim.open(`${origin}${place}`, isProvider)).status, 400, place)
  assert.not.ok(victim.visited.some((url) => isProvider(url)))
  assert.match((await attacker.open(`${origin}/sign-in/${uid}`, isBack)).text, /Allow access/)
})

test('session swap: an authorization goes on with no other that a cookie names', async (t) => {
  const { origin, register, begin } = await attack(t)
  const client = await register()
  const [mallory, victim] = [new Browser(), new Browser()]
  await mallory.open(begin(client).url, isBack)
  const page = await victim.open(begin(client).url, isBack)
  const uid = victim.visited.find(({ pathname }) => pathname.startsWith('/authorize/'))?.pathname
  assert.match(page.text, /Allow access/)
  assert.ok(uid)
  const other = mallory.visited.find(({ pathname }) => pathname.startsWith('/authorize/'))?.pathname ?? ''
  const tossed = mallory
    .cookiesFor(new URL(`${origin}${other}`))
    .replace(/(^|; )(sign-in|session)(\.sig)?=[^;]*/g, '')
  const own = victim.cookiesFor(new URL(`${origin}/`))
  const headers = { cookie: `${own}; ${tossed}` }
  const answer = await fetch(`${origin}${uid}`, { headers, redirect: 'manual' })
  assert.is(answer.status, 400)
})

test('an address without a path is the same with a slash', async (t) => {
  const { origin, register, begin, token, port } = await attack(t, { at: '' })
  const client = await register()
  for (const resource of [origin, `${origin}/`]) {
    const browser = new Browser()
    const { url, verifier } = begin(client, { resource })
    const page = await browser.open(url, isBack)
    const last = await browser.press(page, 'allow', isBack)
    const { status, body } = await token({
      grant_type: 'authorization_code',
      client_id: client.client_id ?? '',
      redirect_uri: back,
      code: last.url.searchParams.get('code') ?? '',
      code_verifier: verifier,
      resource,
    })
    assert.equal([status, body.token_type], [200, 'Bearer'], `${resource} ${JSON.stringify(body)}`)
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${body.access_token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    assert.is(answer.status, 400) // no session; let in
  }
})

test('confused deputy: each client needs consent, whatever cookies there are', async (t) => {
  const { register, begin, codeOf } = await attack(t)
  const browser = new Browser()
  await codeOf(await register(), browser)
  for (const application_type of ['native', 'web']) {
    const other = await register({ application_type, client_name: 'Other', redirect_uris: [back] })
    const page = await browser.open(begin(other).url, isBack)
    assert.not.ok(isBack(page.url), application_type)
    assert.match(page.text, /<b>Other<\/b> wants to use/)
    const none = await browser.open(begin(other, { prompt: 'none' }).url, isBack)
    assert.match(none.text, /(?:interaction|consent)_required/)
  }
})

test('confused deputy: consent is for the address that the page has named', async (t) => {
  const { register, begin } = await attack(t)
  const [good, evil] = ['https://claude.example/back', 'https://evil.example/back'] as const
  const client = await register({ application_type: 'web', redirect_uris: [good, evil] })
  const browser = new Browser()
  const isAway = ({ protocol }: URL): boolean => protocol === 'https:'
  const to = (redirect_uri: string) => browser.open(begin(client, { redirect_uri }).url, isAway)
  const page = await to(good)
  assert.match(page.text, /Access goes to <b>claude\.example<\/b>/)
  assert.ok((await browser.press(page, 'allow', isAway)).url.searchParams.has('code'))
  // again, to where it was allowed
  assert.ok((await to(good)).url.searchParams.has('code'))
  assert.match((await to(evil)).text, /Access goes to <b>evil\.example<\/b>/)
})

test('what the page did not list is not granted, though a role has come meanwhile', async (t) => {
  const may = { scopes: [] as string[] }
  const { register, begin, token } = await attack(t, {
    scopes: { write: 'Write' },
    scopesOf: () => may.scopes,
  })
  const client = await register()
  const browser = new Browser()
  const { url, verifier } = begin(client, { scope: 'mcp write' })
  const page = await browser.open(url, isBack)
  may.scopes = ['write']
  const last = await browser.press(page, 'allow', isBack)
  const { body } = await token({
    grant_type: 'authorization_code',
    client_id: client.client_id ?? '',
    redirect_uri: back,
    code: last.url.searchParams.get('code') ?? '',
    code_verifier: verifier,
  })
  assert.is(body.scope, 'mcp')
})

test('consent by another site: its form is refused, and no page shows ours in a frame', async (t) => {
  const { register, begin } = await attack(t)
  const browser = new Browser()
  const page = await browser.open(begin(await register()).url, isBack)
  // browsers would ask it of each redirect behind a host's own callback, which leads into its app
  assert.not.match(page.headers.get('content-security-policy') ?? '', 'form-action')
  for (const origin of ['https://evil.example', 'null', undefined]) {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: browser.cookiesFor(page.url),
      ...(origin !== undefined && { origin }),
    }
    const response = await fetch(page.url, {
      method: 'POST',
      headers,
      body: 'asked=&decision=allow',
      redirect: 'manual',
    })
    assert.is(response.status, 400, String(origin))
  }
  const policy = String(page.headers.get('content-security-policy'))
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
  assert.not.match(policy, /script-src/)
  assert.is(page.headers.get('x-frame-options'), 'DENY')
  assert.not.match(page.text, /<script/)
})

test('open redirect: nothing is sent to an address that was not registered', async (t) => {
  const { register, begin } = await attack(t)
  const client = await register({ redirect_uris: [back, 'https://app.example/cb'] })
  for (const uri of [
    'https://evil.example/callback',
    'http://127.0.0.1:1/callback/../other',
    'http://127.0.0.1:1/callback2',
    'http://127.0.0.1.evil.example:1/callback',
    'http://user@127.0.0.1:1/callback',
    'https://app.example/cb?x=1',
    'https://app.example:444/cb',
    'javascript:alert(1)',
  ]) {
    const page = await new Browser().open(begin(client, { redirect_uri: uri }).url, () => true)
    assert.is(page.status, 400, uri)
    assert.match(page.text, /redirect_uri/)
  }
  // a program of the user listens on any port of this machine (RFC 8252)
  const any = await new Browser().open(begin(client, { redirect_uri: 'http://127.0.0.1:54321/callback' }).url)
  assert.match(any.text, /a program on this device \(127\.0\.0\.1:54321\)/)
})

test('open redirect: a request that fails leads to nobody who was not let in before', async (t) => {
  const { register, begin, codeOf } = await attack(t)
  const evil = await register({ redirect_uris: ['https://evil.example/x'] })
  const isEvil = ({ hostname }: URL): boolean => hostname === 'evil.example'
  const browser = new Browser()
  const client = await register()
  await codeOf(client, browser)
  for (const more of [
    { prompt: 'none' },
    { response_type: 'token' },
    { code_challenge_method: 'plain' },
    { resource: 'https://other.example/mcp' },
    { request: 'x' },
    { request_uri: 'https://x.example' },
  ] as Json[])
    for (const each of [browser, new Browser()]) {
      const page = await each.open(
        begin(evil, { redirect_uri: 'https://evil.example/x', ...more }).url,
        isEvil,
      )
      assert.equal([page.status, isEvil(page.url)], [400, false], JSON.stringify(more))
    }
  // one that it has let in is told
  const told = await browser.open(begin(client, { prompt: 'none' }).url, isBack)
  assert.match(String(told.url.searchParams.get('error')), /required$/)
})

test('open redirect: a failure leads to the address that was agreed to alone', async (t) => {
  const { register, begin } = await attack(t)
  const [nice, evil] = ['https://nice.example/cb', 'https://evil.example/phish']
  const isAway = ({ hostname }: URL): boolean => hostname.endsWith('.example')
  const client = await register({ redirect_uris: [nice, evil] })
  const browser = new Browser()
  const page = await browser.open(begin(client, { redirect_uri: nice }).url, isAway)
  assert.ok(isAway((await browser.press(page, 'allow', isAway)).url))
  for (const more of [{ prompt: 'none' }, { response_type: 'token' }, { code_challenge: 'x' }] as Json[]) {
    const failed = await browser.open(begin(client, { redirect_uri: evil, ...more }).url, isAway)
    assert.equal([failed.status, isAway(failed.url)], [400, false], JSON.stringify(more))
  }
  const told = await browser.open(begin(client, { redirect_uri: nice, code_challenge: 'x' }).url, isAway)
  assert.equal([told.url.hostname, told.url.searchParams.has('error')], ['nice.example', true])
})

test('consent: what an older page did not show is not granted by it', async (t) => {
  let may: string[] = []
  const { register, begin, token, resource } = await attack(t, {
    scopes: { write: 'Delete all orders' },
    scopesOf: () => may,
  })
  const client = await register({ client_name: 'Friend （of claude.ai）' })
  for (const [isNew, scopes] of [
    [false, 'mcp'],
    [true, 'mcp write'],
  ] as const) {
    may = []
    const browser = new Browser()
    const { url, verifier } = begin(client, { scope: 'mcp write' })
    const older = await browser.open(url, isBack)
    assert.not.match(older.text, /Delete all orders/)
    assert.match(older.text, '<b>Friend  of claude.ai </b> wants')
    may = ['write']
    const newer = await browser.open(older.url, isBack)
    assert.match(newer.text, /Delete all orders/)
    const { searchParams } = (await browser.press(isNew ? newer : older, 'allow', isBack)).url
    const form = { client_id: client.client_id ?? '', redirect_uri: back, resource, code_verifier: verifier }
    const code = searchParams.get('code') ?? ''
    const { body } = await token({ ...form, grant_type: 'authorization_code', code })
    assert.is(body.scope, scopes)
  }
})

test('open redirect: no scheme leads on to another address', async (t) => {
  const { register } = await attack(t, { limits: { registrations: 100 } })
  const idFor = async (uri: string) => (await register({ redirect_uris: [uri] })).client_id
  for (const uri of [
    'x-safari-https://evil.example/cb',
    'googlechromes://evil.example/cb',
    'microsoft-edge-https://evil.example/cb',
    'touch-https://evil.example/cb',
    'firefox://open-url?url=https%3A%2F%2Fevil.example',
    'com.example.app:/open?url=https%253A%252F%252Fevil.example',
    'com.example.app:/open?url=%68ttps%3A//evil.example',
    'brave://open-url?url=evil.example',
    'market://details?id=x',
    'web+https:evil.example',
  ])
    assert.is(await idFor(uri), undefined, uri)
  for (const uri of [
    'cursor://anysphere.cursor/oauth/callback',
    'vscode://x.y/callback?z=1',
    'com.example.app:/cb',
  ])
    assert.type(await idFor(uri), 'string', uri)
})

for (const [what, options] of [
  ['is not let in', { allow: () => false }],
  ['is refused at the provider', { fake: { user: null } }],
] as const)
  test(`open redirect: whoever ${what} is sent to nobody`, async (t) => {
    const { register, begin } = await attack(t, options)
    const isAway = ({ hostname }: URL): boolean => hostname === 'evil.example'
    for (const redirect of ['https://evil.example/phish', 'cursor://evil.example/phish']) {
      const client = await register({ redirect_uris: [redirect] })
      const page = await new Browser().open(begin(client, { redirect_uri: redirect }).url, isAway)
      assert.equal([page.status, isAway(page.url)], [400, false])
      assert.match(page.text, 'access_denied')
    }
    // a program of this device may know why
    const page = await new Browser().open(begin(await register()).url, isBack)
    assert.is(page.url.searchParams.get('error'), 'access_denied')
  })

test('who refuses on the page goes back to the client with that', async (t) => {
  const { register, begin } = await attack(t)
  const browser = new Browser()
  const page = await browser.open(begin(await register()).url, isBack)
  const last = await browser.press(page, 'deny', isBack)
  assert.is(last.url.searchParams.get('error'), 'access_denied')
})

/** What an engine in files keeps. */
async function kept(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'kept-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const count = (): number =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
  return { count, attacked: await attack(t, { engine: files({ folder }) }) }
}

test('growth: a client is known by no assertion that is good for long', async (t) => {
  const { count, attacked } = await kept(t)
  const { register, token, origin } = attacked
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: '1' }
  const { client_id: id = '' } = await register({
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [jwk] },
  })
  const ask = async (seconds: number, jti: string) => {
    const assertion = await new SignJWT({ jti })
      .setProtectedHeader({ alg: 'ES256', kid: '1' })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(origin)
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
      .sign(privateKey)
    const { body } = await token({
      ...{
        grant_type: 'refresh_token',
        refresh_token: 'made-up',
        client_id: id,
        client_assertion: assertion,
      },
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    return body.error
  }
  const before = count()
  for (const seconds of [700, 3_600, 100 * 365 * 86_400])
    assert.is(await ask(seconds, `j${seconds}`), 'invalid_client')
  assert.is(count(), before)
  assert.is(await ask(300, 'one'), 'invalid_grant')
  assert.is(await ask(300, 'one'), 'invalid_client')
})

test('growth: one page is one decision, and a browser of nobody has no record', async (t) => {
  const { count, attacked } = await kept(t)
  const { register, begin, origin } = attacked
  const client = await register()
  const browser = new Browser()
  const page = await browser.open(begin(client).url, isBack)
  const post = async (path: string | URL, cookie: string, body: string): Promise<number> => {
    const headers = { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' }
    const given = { method: 'POST', redirect: 'manual', body, headers } as const
    const response = await fetch(new URL(path, origin), given)
    await response.arrayBuffer()
    return response.status
  }
  const cookie = browser.cookiesFor(page.url)
  assert.is(await post(page.url, cookie, 'asked=&decision=allow'), 303)
  const before = count()
  for (let n = 0; n < 10; n += 1) {
    await (await fetch(page.url, { headers: { cookie } })).arrayBuffer()
    assert.is(await post(page.url, cookie, 'asked=&decision=allow'), 303)
  }
  assert.is(count(), before)
  assert.ok(isBack((await browser.press(page, 'allow', isBack)).url))
  // those of the library have a script, and make an entry of each browser
  for (const path of ['/sign-out', '/sign-out/confirm'])
    assert.is(await post(path, browser.cookiesFor(new URL(origin)), 'xsrf=x&logout=yes'), 404)
})

test('two clicks on one page are one decision, and both lead on', async (t) => {
  const { register, begin, origin } = await attack(t, {
    allow: () => new Promise((resolve) => setTimeout(resolve, 20, true)),
  })
  const browser = new Browser()
  const page = await browser.open(begin(await register()).url, isBack)
  const cookie = browser.cookiesFor(page.url)
  const headers = { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' }
  const click = async (): Promise<string | null> => {
    const given = { method: 'POST', redirect: 'manual', body: 'asked=&decision=allow', headers } as const
    const response = await fetch(page.url, given)
    await response.arrayBuffer()
    return response.headers.get('location')
  }
  const [one, other] = await Promise.all([click(), click()])
  assert.match(String(one), /\/authorize\//)
  assert.is(one, other)
})

test('two tabs that are let in within one second go on, each by itself', async (t) => {
  const { register, begin, token, resource } = await attack(t)
  const redirect = 'https://web.example/cb'
  const isThere = (url: URL): boolean => url.href.startsWith(redirect)
  const { client_id: id = '' } = await register({ redirect_uris: [redirect], application_type: 'web' })
  const browser = new Browser()
  const page = await browser.open(begin({ client_id: id }, { redirect_uri: redirect }).url, isThere)
  await browser.press(page, 'allow', isThere)
  const tab = async (): Promise<string> => {
    const { verifier, url } = begin({ client_id: id }, { redirect_uri: redirect })
    const { url: back } = await browser.open(url, isThere)
    const code = back.searchParams.get('code') ?? ''
    const form = { client_id: id, redirect_uri: redirect, resource, code, code_verifier: verifier }
    const { body } = await token({ ...form, grant_type: 'authorization_code' })
    return body.refresh_token ?? ''
  }
  for (const refreshToken of [await tab(), await tab()]) {
    const renewed = await token({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: id })
    assert.is(renewed.status, 200)
  }
})

test('bad registrations are refused: scripts, fragments, plain http elsewhere', async (t) => {
  const { register, origin } = await attack(t)
  for (const uri of [
    `${origin}/sign-in/callback`,
    `${origin}/upstream/callback/mail`,
    'javascript:alert(1)',
    'data:text/html,x',
    'http://evil.example/cb',
    'https://a.example/#x',
    'mailto:eve@evil.example',
    'ms-msdt:/id',
    'search-ms:query=x',
    'ftp://evil.example/cb',
    'wss://evil.example/cb',
    'https://claude.ai:x@evil.example/cb',
    'x',
  ])
    assert.is((await register({ redirect_uris: [uri] })).error, 'invalid_redirect_uri', uri)
  for (const uri of [
    'cursor://anysphere.cursor-mcp/oauth',
    'https://claude.ai/api/mcp/auth_callback',
    'http://localhost:6274/cb',
  ])
    assert.match(String((await register({ redirect_uris: [uri] })).client_id), /./, uri)
})

test('a code is good once, for its client, with its verifier', async (t) => {
  const { register, token, codeOf, status } = await attack(t)
  const client = await register()
  const first = await codeOf(client)
  for (const wrong of [{ code_verifier: 'x'.repeat(43) }, { redirect_uri: 'http://127.0.0.1:2/callback' }]) {
    const { body } = await token({ ...first.form, ...wrong })
    assert.is(body.error, 'invalid_grant', JSON.stringify(wrong))
  }
  const other = await register()
  assert.is((await token({ ...first.form, client_id: other.client_id ?? '' })).body.error, 'invalid_grant')
  const second = await codeOf(client)
  const both = await Promise.all([token(second.form), token(second.form)])
  assert.is(both.filter(({ status: code }) => code === 200).length, 1)
  const third = await codeOf(client)
  const { body } = await token(third.form)
  assert.is(await status(body.access_token), 400) // no session; let in
  // whoever uses a code again has stolen it, or has had it stolen: what came of it ends
  assert.is((await token(third.form)).body.error, 'invalid_grant')
  assert.is(await status(body.access_token), 401)
})

test('an authorization without PKCE is refused', async (t) => {
  const { register, begin } = await attack(t)
  const secret = await register({ token_endpoint_auth_method: 'client_secret_basic' })
  const open = await register()
  const without = ['code_challenge', 'code_challenge_method']
  for (const [client, left, more] of [secret, open].flatMap((one) => [
    [one, without, {}] as const,
    [one, without.slice(0, 1), {}] as const,
    [one, [], { code_challenge_method: 'plain' }] as const,
  ])) {
    const { url } = begin(client, more as Json)
    for (const name of left) url.searchParams.delete(name)
    const page = await new Browser().open(url, isBack)
    assert.equal([page.status, isBack(page.url)], [400, false], `${left} ${JSON.stringify(more)}`)
    assert.match(page.text, 'invalid_request')
  }
})

test('no token comes in an address, and none for a password or for a client itself', async (t) => {
  const { register, begin, token } = await attack(t)
  const client = await register()
  for (const response_type of ['token', 'code token', 'id_token', 'none']) {
    const page = await new Browser().open(begin(client, { response_type }).url, isBack)
    assert.is(page.status, 400, response_type)
  }
  const other = { client_id: client.client_id ?? '', username: 'ada', password: 'p', scope: 'mcp' }
  for (const grant_type of ['password', 'client_credentials'])
    assert.is((await token({ ...other, grant_type })).body.error, 'unsupported_grant_type', grant_type)
})

test('no page, and no way to the provider, tells another site its address', async (t) => {
  const { register, begin } = await attack(t)
  const { url } = begin(await register())
  const first = await fetch(url, { redirect: 'manual', headers: { origin: 'https://evil.example' } })
  await first.arrayBuffer()
  // nor may a page of another site look at what is answered
  assert.equal([first.status, first.headers.get('access-control-allow-origin')], [303, null])
  const cookies = first.headers.getSetCookie().map((line) => line.split(';')[0])
  const step = new URL(first.headers.get('location') ?? '', url)
  const second = await fetch(step, { redirect: 'manual', headers: { cookie: cookies.join('; ') } })
  await second.arrayBuffer()
  assert.equal([second.status, second.headers.get('referrer-policy')], [303, 'no-referrer'])
  const page = await new Browser().open(url, isBack)
  assert.is(page.headers.get('referrer-policy'), 'same-origin')
  assert.is(page.headers.get('cache-control'), 'no-store')
})

test('a stolen refresh token ends what it is used for, for thief and owner', async (t) => {
  const time = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + time.ms }
  const { register, token, codeOf, status } = await attack(t, { clock })
  const { form } = await codeOf(await register())
  const { body: first } = await token(form)
  const renewal = (refreshToken = '') => ({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: form.client_id,
  })
  const { body: second } = await token(renewal(first.refresh_token))
  assert.is.not(second.refresh_token, first.refresh_token)
  assert.is(await status(second.access_token), 400)
  time.ms += 30_000
  assert.is((await token(renewal(first.refresh_token))).body.error, 'invalid_grant')
  assert.is(await status(second.access_token), 401)
  assert.is((await token(renewal(second.refresh_token))).body.error, 'invalid_grant')
})

test('a token that is bound to a key opens nothing without it; a proof is good once', async (t) => {
  const { register, codeOf, origin, resource } = await attack(t, { dpop: true })
  const { form } = await codeOf(await register())
  const key = await makeProofKey()
  const own = await prove(key, '', { claims: { htu: `${origin}/token`, ath: undefined } })
  const given = await fetch(`${origin}/token`, {
    method: 'POST',
    headers: { dpop: own },
    body: new URLSearchParams(form),
  })
  const { token_type: kind, access_token: token = '' } = (await given.json()) as Json
  assert.is(kind, 'DPoP')
  const status = async (headers: Record<string, string>): Promise<number> => {
    const response = await fetch(resource, {
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    await response.arrayBuffer()
    return response.status
  }
  const proof = (by: typeof key) => prove(by, token, { claims: { htu: resource } })
  const good = await proof(key)
  assert.is(await status({ authorization: `Bearer ${token}` }), 401)
  assert.is(await status({ authorization: `DPoP ${token}`, dpop: await proof(await makeProofKey()) }), 401)
  assert.is(await status({ authorization: `DPoP ${token}`, dpop: good }), 400) // no session; let in
  assert.is(await status({ authorization: `DPoP ${token}`, dpop: good }), 401)
  const { client } = signedIn(t, resource, undefined, { dpop: true })
  assert.match((await client.callTool('whoami')).text, /"subject":"ada".*"cnf":\{"jkt":"/)
})

test('a token that is bound to a key is no bearer token where nobody looks at proofs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'logins-'))
  const engine = () => files({ folder })
  const { register, codeOf, origin, server, port } = await attack(t, { dpop: true, engine: engine() })
  const { form } = await codeOf(await register())
  const own = await prove(await makeProofKey(), '', { claims: { htu: `${origin}/token`, ath: undefined } })
  const body = new URLSearchParams(form)
  const given = await fetch(`${origin}/token`, { method: 'POST', headers: { dpop: own }, body })
  const { access_token: token } = (await given.json()) as Json
  await server.stop()
  const { status } = await attack(t, { port, engine: engine() })
  assert.is(await status(token), 401)
})

for (const [which, age] of [
  ['current', 0],
  ['last', 1_000],
  ['last', 3_600_000],
] as const)
  test(`a client that revokes its ${which} refresh token after ${age} ms ends its grant`, async (t) => {
    const time = { ms: 0 }
    const clock = { ...systemWorld, date: () => Date.now() + time.ms }
    const { register, token, codeOf, status, origin } = await attack(t, { clock })
    const { form } = await codeOf(await register())
    const { body: first } = await token(form)
    const renewal = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }
    const { body: second } = await token({ ...renewal, client_id: form.client_id })
    time.ms += age
    assert.is(await status(second.access_token), age < 3_600_000 ? 400 : 401)
    const { refresh_token = '' } = which === 'current' ? second : first
    const own = { token: refresh_token, client_id: form.client_id }
    const response = await fetch(`${origin}/revoke`, { method: 'POST', body: new URLSearchParams(own) })
    assert.is(response.status, 200)
    for (const { access_token } of [first, second]) assert.is(await status(access_token), 401)
    const again = { ...renewal, refresh_token: second.refresh_token ?? '', client_id: form.client_id }
    assert.is((await token(again)).body.error, 'invalid_grant')
  })

test('token passthrough: no token of the provider goes to a client, or is taken', async (t) => {
  const { register, token, codeOf, status, resource } = await attack(t)
  const seen: string[] = []
  const { form, answer } = await codeOf(await register())
  const { body } = await token(form)
  seen.push(answer.toString(), JSON.stringify(body))
  assert.not.match(seen.join(' '), /token-|id_token/)
  assert.is(await status('token-of-the-provider'), 401)
  assert.is(body.token_type, 'Bearer')
  // one for another server is not given
  const other = await attack(t)
  const wrong = other.begin(await other.register(), { resource })
  const page = await new Browser().open(wrong.url, isBack)
  assert.match(page.text, 'invalid_target')
  assert.is(await other.status(body.access_token), 401)
})

test('mix-up: each answer names the issuer, and that of the provider is checked', async (t) => {
  const { register, codeOf, origin, begin } = await attack(t)
  const { answer } = await codeOf(await register())
  assert.equal([answer.get('iss'), answer.get('state')], [origin, 'own state'])
  const browser = new Browser()
  const stopped = await browser.open(
    begin(await register()).url,
    ({ pathname }) => pathname === '/sign-in/callback',
  )
  stopped.url.searchParams.set('iss', 'https://evil.example')
  const page = await browser.open(stopped.url, isBack)
  assert.is(page.url.searchParams.get('error'), 'access_denied')
  // GitHub calls itself by another address than its origin
  const github = await attack(t, { fake: { github: true } })
  for (const [iss, error] of [
    [`${github.login.issuer}/login/oauth`, null],
    [github.login.issuer, 'access_denied'],
  ] as const) {
    const visitor = new Browser()
    const { url } = github.begin(await github.register())
    const came = await visitor.open(url, ({ pathname }) => pathname === '/sign-in/callback')
    came.url.searchParams.set('iss', iss)
    assert.is((await visitor.open(came.url, isBack)).url.searchParams.get('error'), error)
  }
})

test('an address that a client names is never one of this machine or network', async (t) => {
  const { begin } = await attack(t)
  let contacted = 0
  const inside = createServer((socket) => {
    contacted += 1
    socket.destroy()
  })
  inside.listen(0, '127.0.0.1')
  await once(inside, 'listening')
  t.after(() => inside.close())
  const { port } = inside.address() as AddressInfo
  for (const id of [
    `https://127.0.0.1:${port}/client.json`,
    `https://localhost:${port}/client.json`,
    'https://169.254.169.254/latest',
  ]) {
    const page = await new Browser().open(begin({ client_id: id }).url, () => true)
    assert.is(page.status, 400, id)
  }
  assert.is(contacted, 0)
})

test('an address that looks like this device is shown as what it is', async (t) => {
  const { register, begin } = await attack(t)
  const uri = 'https://127.0.0.1.evil.example/cb'
  const client = await register({ redirect_uris: [uri] })
  const page = await new Browser().open(begin(client, { redirect_uri: uri }).url)
  assert.match(page.text, /Access goes to <b>127\.0\.0\.1\.evil\.example<\/b>/)
  for (const redirect of [
    'http://evil.example/cb',
    'microsoft-edge:https://evil.example/cb',
    'x://a/https://evil.example',
  ])
    for (const application_type of ['web', 'native']) {
      const { error } = await register({ redirect_uris: [redirect], application_type })
      assert.is(error, 'invalid_redirect_uri', `${application_type} ${redirect}`)
    }
  const own = await register({ redirect_uris: ['cursor://anysphere.cursor-mcp/oauth'] })
  const shown = await new Browser().open(
    begin(own, { redirect_uri: 'cursor://anysphere.cursor-mcp/oauth' }).url,
  )
  assert.match(shown.text, /Access goes to <b>cursor:\/\/anysphere\.cursor-mcp\/oauth<\/b>/)
})

test('who may not come in any more gets no new grant, though the browser is known', async (t) => {
  const left = new Set<string>()
  const { register, begin, codeOf } = await attack(t, { allow: ({ subject }) => !left.has(subject) })
  const browser = new Browser()
  await codeOf(await register(), browser)
  left.add('ada')
  const page = await browser.open(begin(await register()).url, isBack)
  assert.is(page.url.searchParams.get('error'), 'access_denied')
})

test('a login ends, however often its browser comes: the provider is asked again', async (t) => {
  const { register, begin, codeOf, login } = await attack(t, { lifetimes: { login: 2_000 } })
  const browser = new Browser()
  await codeOf(await register(), browser)
  const client = await register()
  for (let n = 0; n < 8; n += 1) {
    await browser.open(begin(client, { prompt: 'none' }).url, isBack)
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
  const asked = login.asked.length
  const page = await browser.open(begin(client).url, isBack)
  assert.match(page.text, /Allow access/)
  assert.ok(login.asked.length > asked)
})

test('an address that nobody has verified is no claim of the principal', async (t) => {
  const user = { subject: 'eve', email: 'boss@example.com', emailVerified: false }
  const { register, codeOf, token, resource } = await attack(t, { fake: { user } })
  const { body } = await token((await codeOf(await register())).form)
  const client = startClient({ transport: http(resource, { auth: body.access_token ?? '' }), logger: false })
  t.after(() => client.close())
  assert.not.match((await client.callTool('whoami')).text, /boss@/)
})

test('another user may sign in at the same browser', async (t) => {
  const { register, begin, codeOf, login } = await attack(t)
  const browser = new Browser()
  await codeOf(await register(), browser)
  login.user = { subject: 'bob', name: 'Bob' }
  const page = await browser.open(begin(await register(), { prompt: 'login' }).url, isBack)
  assert.match(page.text, /as you: <b>Bob<\/b>/)
})

test('who was signed out signs in anew at the same browser', async (t) => {
  const { register, codeOf, auth, token, login } = await attack(t)
  const [browser, client] = [new Browser(), await register()]
  const { form } = await codeOf(client, browser)
  await auth.signOut({ issuer: login.issuer, subject: login.user?.subject ?? '' })
  assert.is((await token(form)).body.error, 'invalid_grant')
  const again = await codeOf(client, browser)
  assert.is((await token(again.form)).body.token_type, 'Bearer')
})

test('two logins of one browser at a time do not hinder each other', async (t) => {
  const { register, begin } = await attack(t)
  const browser = new Browser()
  const atCallback = ({ pathname }: URL): boolean => pathname === '/sign-in/callback'
  const first = await browser.open(begin(await register()).url, atCallback)
  const second = await browser.open(begin(await register()).url, atCallback)
  for (const { url } of [first, second]) assert.match((await browser.open(url)).text, /Allow access/)
})

/** Two logins of one browser that are under way, of two people, up to where the provider sends it back. */
async function twoPeople(t: TestContext) {
  const found = await attack(t)
  const { register, begin, login } = found
  const [browser, client] = [new Browser(), await register()]
  const come = async (subject: string, stop: string): Promise<URL> => {
    login.user = { subject, name: subject }
    const isThere = ({ pathname }: URL): boolean => pathname.startsWith(stop)
    return (await browser.open(begin(client).url, isThere)).url
  }
  return { ...found, browser, client, come }
}

test('two people who change places in one browser see no page but ours', async (t) => {
  const { browser, come } = await twoPeople(t)
  const ada = await come('Ada', '/sign-in/callback')
  const bob = await come('Bob', '/sign-in/callback')
  const pages = [await browser.open(ada), await browser.open(bob)]
  assert.equal(
    pages.map(({ text }) => /as you: <b>(\w+)<\/b>/.exec(text)?.[1]),
    ['Ada', 'Bob'],
  )
  // the page of the first is good no more
  assert.is((await browser.press(pages[0] as Page, 'allow', isBack)).status, 400)
  assert.ok(isBack((await browser.press(pages[1] as Page, 'allow', isBack)).url))
})

test('nor where the other one comes back between two steps', async (t) => {
  const { browser, come } = await twoPeople(t)
  const isResume = ({ pathname }: URL): boolean => pathname.startsWith('/authorize/')
  const ada = await browser.open(await come('Ada', '/sign-in/callback'), isResume)
  const bob = await browser.open(await come('Bob', '/sign-in/callback'), isResume)
  assert.match((await browser.open(ada.url)).text, /as you: <b>Ada<\/b>/)
  assert.match((await browser.open(bob.url)).text, /as you: <b>Bob<\/b>/)
})

test('an authorization that goes on takes nothing from its address', async (t) => {
  const { browser, come, client, origin } = await twoPeople(t)
  const both = [await come('Ada', '/sign-in/callback'), await come('Bob', '/sign-in/callback')]
  const ada = await browser.open(both[0] as URL)
  await browser.open(both[1] as URL)
  const resumed = `${origin}${ada.url.pathname.replace('/sign-in/', '/authorize/')}`
  const more = { client_id: client.client_id ?? '', redirect_uri: back, response_mode: 'form_post' }
  const page = await browser.open(`${resumed}?${new URLSearchParams(more)}`, isBack)
  assert.match(page.text, /session mismatch/)
  assert.not.match(page.text, /<script|<form/)
})

test('what a client calls itself is text, and its address is shown beside it', async (t) => {
  const { register, begin } = await attack(t)
  const client_name = `<img src=x onerror=alert(1)> Bank\u202E${'x'.repeat(300)}`
  const page = await new Browser().open(begin(await register({ client_name })).url)
  assert.not.match(page.text, /<img/)
  assert.not.match(page.text, /\u202E/)
  assert.match(page.text, /&#60;img src=x/)
  assert.not.match(page.text, /x{200}/)
  assert.match(page.text, /Access goes to <b>a program on this device/)
})

test('addresses are never made of what a request says', async (t) => {
  const { origin } = await attack(t)
  const { port } = new URL(origin)
  const text = await new Promise<string>((resolve, reject) => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
    const asking = request({
      port,
      host: '127.0.0.1',
      path: '/.well-known/oauth-authorization-server',
      headers,
    })
    asking.on('error', reject)
    asking.on('response', async (response) => {
      let all = ''
      for await (const chunk of response) all += chunk
      resolve(all)
    })
    asking.end()
  })
  assert.not.match(text, /evil/)
})

/** A request whose first line names another server. */
function postTo(port: number, target: string, form: Json, more: Json = {}): Promise<Json> {
  const sent = request({
    ...{ host: '127.0.0.1', port, method: 'POST', path: target },
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...more },
  })
  sent.end(new URLSearchParams(form).toString())
  return once(sent, 'response').then(([answer]) => readJson(answer)) as Promise<Json>
}

test('what proves a client to another server is of no use here', async (t) => {
  const evil = 'https://evil.example/token'
  const { register, codeOf, port, origin } = await attack(t)
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const client = await register({
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: '1' }] },
  })
  const { client_id: id = '' } = client
  const assertionFor = (audience: string): Promise<string> =>
    new SignJWT({ jti: `for ${audience}` })
      .setProtectedHeader({ alg: 'ES256', kid: '1' })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
  const { form } = await codeOf(client)
  const asked = async (target: string, audience: string): Promise<Json> =>
    postTo(port, target, {
      ...form,
      client_assertion: await assertionFor(audience),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
  assert.is((await asked('/token', evil)).error, 'invalid_client')
  assert.is((await asked(evil, evil)).error, 'invalid_client')
  assert.is((await asked(evil, `${origin}/token`)).token_type, 'Bearer')

  const bound = await attack(t, { dpop: true })
  const key = await makeProofKey()
  const proof = await prove(key, 'x', { claims: { htu: evil, ath: undefined } })
  const { form: own } = await bound.codeOf(await bound.register())
  assert.is((await postTo(bound.port, evil, own, { dpop: proof })).error, 'invalid_dpop_proof')
})

test('a proof is good once where tokens are given, also one whose clock is ahead', async (t) => {
  const clock = createFakeClock(Date.now())
  const { register, codeOf, origin } = await attack(t, { dpop: true, clock })
  const client = await register()
  const key = await makeProofKey()
  const iat = Math.floor(Date.now() / 1_000) + 290
  const dpop = await prove(key, 'x', { claims: { htu: `${origin}/token`, ath: undefined, iat } })
  const ask = async (form: Json): Promise<Json> => {
    const body = new URLSearchParams(form)
    return (await (
      await fetch(`${origin}/token`, { method: 'POST', headers: { dpop }, body })
    ).json()) as Json
  }
  const first = await ask((await codeOf(client)).form)
  assert.is(first.token_type, 'DPoP')
  const renewal = {
    grant_type: 'refresh_token',
    refresh_token: first.refresh_token ?? '',
    client_id: client.client_id ?? '',
  }
  assert.is((await ask(renewal)).error, 'invalid_grant')
  await clock.advance(302_000)
  assert.is((await ask(renewal)).error, 'invalid_grant')
})

test('a program on the device needs consent each time, whatever its client says to be', async (t) => {
  const { register, begin, codeOf } = await attack(t)
  for (const application_type of ['web', 'native']) {
    const client = await register({ application_type })
    const browser = new Browser()
    await codeOf(client, browser)
    const page = await browser.open(begin(client).url, isBack)
    assert.not.ok(isBack(page.url), application_type)
    assert.match(page.text, 'Access goes to')
  }
})

test('a token of one resource is good at no other one with the same engine', async (t) => {
  const folder = makeFolder(t)
  const tokenOf = async ({ register, codeOf, token }: Awaited<ReturnType<typeof attack>>) =>
    (await token((await codeOf(await register())).form)).body.access_token
  const one = await attack(t, { engine: files({ folder }) })
  const first = await tokenOf(one)
  assert.is(await one.status(first), 400)
  await one.server.stop()
  const { issuer, clientId, clientSecret } = one.login
  const provider = oidc({ issuer, clientId, clientSecret })
  // the server has moved: whoever has a token for the old address has none for the new one
  const other = await attack(t, { engine: files({ folder }), provider, port: one.port, at: '/moved' })
  assert.equal([await other.status(await tokenOf(other)), await other.status(first)], [400, 401])
})

test('one address registers sixty clients in ten minutes at most', async (t) => {
  const { register } = await attack(t)
  const all: Json[] = []
  for (let n = 0; n < 62; n += 1) all.push(await register())
  assert.is(all.filter(({ client_id: id }) => id !== undefined).length, 60)
  assert.is(all.at(-1)?.error, 'temporarily_unavailable')
})

test('hostile requests are answered, and nothing breaks', async (t) => {
  const { origin, register, begin } = await attack(t)
  const ask = (path: string, init: RequestInit = {}): Promise<number> =>
    fetch(`${origin}${path}`, { redirect: 'manual', ...init }).then(async (response) => {
      await response.arrayBuffer()
      return response.status
    })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.is(await ask('/sign-in/made-up'), 400)
  assert.is(await ask('/authorize/made-up'), 400)
  assert.is(await ask('/token', { method: 'POST', headers: form, body: 'x'.repeat(200_000) }), 413)
  assert.is(await ask(`/authorize?state=${'x'.repeat(5_000)}`), 414)
  assert.is(
    await ask('/register', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }),
    400,
  )
  assert.is(
    await ask('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"redirect_uris":"__proto__"}',
    }),
    400,
  )
  assert.ok((await ask('/authorize')) >= 400)
  assert.is(await ask('/authorize?client_id=__proto__&redirect_uri=x&response_type=code'), 400)
  assert.ok((await ask('/token')) >= 400)
  const client = await register()
  const browser = new Browser()
  const page: Page = await browser.open(begin(client).url, isBack)
  const long = { ...form, origin, cookie: browser.cookiesFor(page.url) }
  assert.is(
    await ask(page.url.pathname, { method: 'POST', headers: long, body: `decision=${'x'.repeat(20_000)}` }),
    413,
  )
  assert.match((await browser.open(page.url)).text, /Allow access/)
})

test.run()
