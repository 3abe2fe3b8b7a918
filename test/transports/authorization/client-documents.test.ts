// second tier: time
// shares a process
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import * as assert from 'uvu/assert'
import { selfSigned } from '../../support/certificate.js'
import { files } from 'caduceus/server'
import { oidc } from 'caduceus/transports'
import { makeFolder } from '../../support/folder.js'
import { suite, type TestContext } from '../../support/suite.js'
import { attack, back, isBack } from './_attack.js'
import { Browser } from './_browser.js'
import { start } from './_server.js'

const test = suite('clients that are their metadata document', { timeout: 20_000 })
const host = 'client.example'
const id = `https://${host}/mcp/client.json`

/** A host on the web: what is dialled under its name comes here, and all else where it goes. */
async function onTheWeb(
  t: TestContext,
  documents: Readonly<Record<string, object | 'away'>>,
  isSilent = false,
) {
  const { cert, key } = selfSigned()
  const asked: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    asked.push(String(request.url))
    if (isSilent) return
    const document = documents[String(request.url)]
    const status = document === 'away' ? 503 : document === undefined ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { connect } = tls
  const here = { host: '127.0.0.1', port, servername: 'localhost', ca: cert, lookup: undefined }
  tls.connect = ((options: tls.ConnectionOptions, ...rest: []) =>
    connect(
      options.host === host ? ({ ...options, ...here } as tls.ConnectionOptions) : options,
      ...rest,
    )) as typeof connect
  t.after(() => {
    tls.connect = connect
    server.closeAllConnections()
    server.close()
  })
  return asked
}

function providerOf({ issuer, clientId, clientSecret }: Awaited<ReturnType<typeof attack>>['login']) {
  return oidc({ issuer, clientId, clientSecret })
}

const document = {
  client_id: id,
  client_name: 'Host on the web',
  redirect_uris: [back],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
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
  await onTheWeb(t, {
    '/mcp/client.json': {
      ...document,
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      jwks_uri: `https://${host}/keys.json`,
    },
    '/keys.json': { keys: [jwk] },
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

test('one network has three documents fetched at a time', async (t) => {
  await onTheWeb(t, {}, true)
  const { begin } = await attack(t)
  const pages = Array.from({ length: 6 }, (_, n) =>
    new Browser().open(begin({ client_id: `https://${host}/${n}.json` }).url, () => true),
  )
  const first = await Promise.race(pages)
  assert.equal([first.status, /temporarily_unavailable/.test(first.text)], [503, true])
  const all = await Promise.all(pages)
  assert.is(all.filter(({ text }) => /temporarily_unavailable/.test(text)).length, 3)
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
