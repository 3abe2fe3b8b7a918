// second tier: time
// shares a process
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import * as assert from 'uvu/assert'
import { files } from 'caduceus/server'
import { oidc } from 'caduceus/transports'
import { makeFolder } from '../../support/folder.js'
import { suite } from '../../support/suite.js'
import { OwnServer } from '../../../transports/auth/own-server.js'
import { attack, isBack } from './_attack.js'
import { Browser } from './_browser.js'
import { start } from './_server.js'
import { document, host, id, onTheWeb } from './_on-the-web.js'

const test = suite('clients that are their metadata document', { timeout: 20_000 })

function providerOf({ issuer, clientId, clientSecret }: Awaited<ReturnType<typeof attack>>['login']) {
  return oidc({ issuer, clientId, clientSecret })
}

test('its user agrees to what the document says, and it is not registered', async (t) => {
  const asked = await onTheWeb(t, { '/mcp/client.json': document })
  const { begin, codeOf, token, status, origin } = await attack(t)
  const found = await fetch(`${origin}/.well-known/oauth-authorization-server`)
  assert.is(((await found.json()) as Record<string, unknown>).client_id_metadata_document_supported, true)
  const client = { client_id: id }
  const page = await new Browser().open(begin(client).url, isBack)
  assert.match(page.text, /<b>Host on the web<\/b> \(of <b>client\.example<\/b>\) wants to use/)
  const { form } = await codeOf(client)
  const { body } = await token(form)
  assert.is(await status(body.access_token), 400)
  const renewed = await token({
    grant_type: 'refresh_token',
    refresh_token: body.refresh_token ?? '',
    client_id: id,
  })
  assert.is(renewed.status, 200)
  // it is kept for a while
  assert.equal(asked, ['/mcp/client.json'])
})

test('what documents say for other servers is left out', async (t) => {
  const [chat, editor] = ['chat', 'editor'].map((name) => `https://${host}/${name}.json`)
  await onTheWeb(t, {
    '/chat.json': {
      ...document,
      client_id: chat,
      token_endpoint_auth_method: 'tls_client_auth',
      token_endpoint_auth_methods_supported: ['none', 'tls_client_auth'],
    },
    '/editor.json': {
      ...document,
      client_id: editor,
      scope: 'openid offline_access',
      grant_types: [...document.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
    },
  })
  const { codeOf, token, status } = await attack(t)
  for (const client_id of [chat ?? '', editor ?? '']) {
    const { form } = await codeOf({ client_id })
    const { body } = await token(form)
    assert.is(await status(body.access_token), 400, client_id)
  }
})

test('one with a key proves it where tokens are given', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }
  const keys: Record<string, object> = { keys: [jwk] }
  await onTheWeb(t, {
    '/mcp/client.json': {
      ...document,
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      jwks_uri: `https://${host}/keys.json`,
    },
    '/keys.json': keys,
  })
  const { codeOf, token, status, origin } = await attack(t)
  const assertion = (by = privateKey): string => {
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: id, sub: id, aud: origin, jti: randomUUID(), iat: now, exp: now + 60 }
    const text = [{ alg: 'ES256', kid: 'one' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const key = { key: by, dsaEncoding: 'ieee-p1363' } as const
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
  }
  const proof = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }
  const { form } = await codeOf({ client_id: id })
  assert.is((await token(form)).body.error, 'invalid_client')
  // more than is read of keys
  keys.more = ['x'.repeat(20_000)]
  assert.ok((await token({ ...form, ...proof, client_assertion: assertion() })).status >= 400)
  delete keys.more
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  assert.is(
    (await token({ ...form, ...proof, client_assertion: assertion(other) })).body.error,
    'invalid_client',
  )
  const { body } = await token({ ...form, ...proof, client_assertion: assertion() })
  assert.is(await status(body.access_token), 400, JSON.stringify(body))
})

test('where tokens are given, no document of an unknown client is fetched', async (t) => {
  const asked = await onTheWeb(t, { '/mcp/client.json': document })
  const { token, codeOf } = await attack(t)
  const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: id }
  for (let n = 0; n < 20; n += 1)
    assert.is((await token({ ...form, client_id: `https://${host}/${n}.json` })).body.error, 'invalid_client')
  assert.equal(asked, [])
  await codeOf({ client_id: id })
  assert.is((await token(form)).body.error, 'invalid_grant')
})

test('a login of such a client goes on at another node, which has no document yet', async (t) => {
  const asked = await onTheWeb(t, { '/mcp/client.json': document })
  const folder = makeFolder(t)
  const first = await attack(t, { engine: files({ folder }) })
  const page = await (async () => {
    const browser = new Browser()
    const begun = await browser.open(first.begin({ client_id: id }).url, isBack)
    await first.server.stop()
    // in place of another node: nothing of the first is in its memory
    await start(t, { engine: files({ folder }), port: first.port, provider: providerOf(first.login) })
    return browser.open(begun.url, isBack)
  })()
  assert.equal(
    [page.status, /<b>Host on the web<\/b> \(of <b>client\.example<\/b>\) wants to use/.test(page.text)],
    [200, true],
  )
  assert.is(asked.length, 2)
})

test('its users go on while its host is away, until the document has gone', async (t) => {
  const documents: Record<string, object | 'away'> = { '/mcp/client.json': document }
  await onTheWeb(t, documents)
  const folder = makeFolder(t)
  const first = await attack(t, { engine: files({ folder }) })
  const { form } = await first.codeOf({ client_id: id })
  let { body } = await first.token(form)
  let { server } = first
  // in place of another node: nothing of the one before is in its memory
  const renewed = async (way: 'away' | undefined) => {
    await server.stop()
    ;({ server } = await start(t, {
      ...{ engine: files({ folder }), port: first.port, provider: providerOf(first.login) },
    }))
    if (way === undefined) delete documents['/mcp/client.json']
    else documents['/mcp/client.json'] = way
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '', client_id: id }
    const answer = await first.token(refresh)
    if (answer.status === 200) ({ body } = answer)
    return [answer.status, answer.body.error]
  }
  assert.equal(await renewed('away'), [200, undefined])
  assert.equal(await renewed(undefined), [400, 'invalid_client'])
})

test('a document that is none does not take the place of the one that was', async (t) => {
  const documents: Record<string, object | 'away'> = { '/mcp/client.json': document }
  await onTheWeb(t, documents)
  const folder = makeFolder(t)
  const first = await attack(t, { engine: files({ folder }) })
  const { form } = await first.codeOf({ client_id: id })
  const { body } = await first.token(form)
  let { server } = first
  const asked = async (now: object | 'away') => {
    documents['/mcp/client.json'] = now
    await server.stop()
    ;({ server } = await start(t, {
      ...{ engine: files({ folder }), port: first.port, provider: providerOf(first.login) },
    }))
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '', client_id: id }
    return (await first.token(refresh)).status
  }
  // plain http elsewhere
  assert.is(await asked({ ...document, redirect_uris: ['http://evil.example/'] }), 400)
  // longer than the library takes: as if its host were away
  assert.is(await asked({ ...document, filler: 'x'.repeat(6_000) }), 200)
  assert.is(await asked('away'), 200)
})

test('the address that a client is has 512 characters at most', async (t) => {
  const at = (length: number) => `https://${host}/`.padEnd(length, 'x')
  const documents = [512, 513].map((length) => [
    new URL(at(length)).pathname,
    { ...document, client_id: at(length) },
  ])
  await onTheWeb(t, Object.fromEntries(documents))
  const { begin, codeOf, token } = await attack(t)
  await codeOf({ client_id: at(512) })
  const page = await new Browser().open(begin({ client_id: at(513) }).url, isBack)
  assert.equal([page.status, /may have 512 characters/.test(page.text)], [400, true])
  const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: at(513) }
  assert.is((await token(form)).body.error, 'invalid_request')
})

test('the keys of clients are fetched three at a time, and once for many requests', async (t) => {
  const documents: Record<string, object | 'away'> = {}
  const asked = await onTheWeb(t, documents, ({ url = '' }) => url.startsWith('/keys'))
  const { register, token, origin } = await attack(t)
  const proof = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }
  const withKeys = async (n: number) => {
    const jwks_uri = `https://${host}/keys-${n}`
    const client = await register({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri })
    const id = client.client_id ?? ''
    const exp = Math.floor(Date.now() / 1_000) + 60
    const claims = { iss: id, sub: id, aud: origin, jti: randomUUID(), exp }
    const text = [{ alg: 'ES256' }, claims, {}]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: id }
    return () => token({ ...form, ...proof, client_assertion: text })
  }
  const clients = await Promise.all([1, 2, 3, 4, 5].map(withKeys))
  const answers = await Promise.all([...clients, ...clients].map((ask) => ask()))
  assert.ok(answers.every(({ status }) => status >= 400))
  assert.is(asked.length, 3, String(asked))
})

test('one network has three documents fetched at a time', async (t) => {
  await onTheWeb(t, {}, () => true)
  const { begin } = await attack(t)
  const pages = Array.from({ length: 6 }, (_, n) =>
    new Browser().open(begin({ client_id: `https://${host}/${n}.json` }).url, () => true),
  )
  const first = await Promise.race(pages)
  assert.equal([first.status, /temporarily_unavailable/.test(first.text)], [503, true])
  const all = await Promise.all(pages)
  assert.is(all.filter(({ text }) => /temporarily_unavailable/.test(text)).length, 3)
})

test('of all networks a hundred documents are fetched at a time', async (t) => {
  await onTheWeb(t, {}, () => true)
  let came = 0
  const { begin } = await attack(t, {
    prepare(auth) {
      const parts = OwnServer.parts(auth)
      const { take } = parts
      const anywhere = (): string => `10.0.0.${Math.floor(came++ / 3)}`
      Object.assign(parts, {
        take: (...[request, response]: Parameters<typeof take>) => take(request, response, anywhere()),
      })
    },
  })
  const pages = Array.from({ length: 105 }, (_, n) =>
    new Browser().open(begin({ client_id: `https://${host}/${n}.json` }).url, () => true),
  )
  const all = await Promise.all(pages)
  assert.is(all.filter(({ text }) => /temporarily_unavailable/.test(text)).length, 5)
})

test('a document is for its own address, and sends users where it says alone', async (t) => {
  await onTheWeb(t, {
    '/mcp/client.json': document,
    '/other.json': document,
    '/plain.json': {
      ...document,
      client_id: `https://${host}/plain.json`,
      redirect_uris: ['http://evil.example/'],
    },
    '/long.json': { ...document, client_id: `https://${host}/long.json`, client_name: 'x'.repeat(20_000) },
  })
  const { begin } = await attack(t)
  for (const [client, more] of [
    [`https://${host}/other.json`, {}],
    [`https://${host}/absent.json`, {}],
    [`https://${host}/plain.json`, { redirect_uri: 'http://evil.example/' }],
    [`https://${host}/long.json`, {}],
    [id, { redirect_uri: 'https://evil.example/cb' }],
  ] as const) {
    const page = await new Browser().open(begin({ client_id: client }, more).url, () => true)
    assert.is(page.status, 400, client)
  }
})

test.run()
