// second tier: time
// shares a process
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decodeJwt, decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import * as assert from 'uvu/assert'
import { fileAuthStorage, oauth, type OAuthOptions, withClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { quickSignIn, startGuarded, startOAuthServer } from './_oauth.js'

const test = suite('grants of the OAuth client', { timeout: 15_000 })

/** The issuer `mine` of a client is the one that the server names. */
async function start(t: TestContext, given: OAuthOptions) {
  const issuer = await startOAuthServer(t)
  const { client } = given
  const options =
    client?.issuer === 'mine' ? { ...given, client: { ...client, issuer: issuer.issuer } } : given
  const server = await startGuarded(t, issuer)
  const auth = oauth(options)
  t.after(() => auth.close())
  const call = (): Promise<string> =>
    withClient({ transport: http(server.url, { auth, stream: false }), logger: false }, async (client) => {
      return (await client.callTool('x')).text
    })
  return { issuer, server, auth, call }
}

test('client_credentials with a secret needs no user and renews a refused token', async (t) => {
  const { issuer, server, call } = await start(t, {
    grant: 'client_credentials',
    client: { id: 'me', secret: 's', issuer: 'mine' },
  })
  server.metadata = { scopes_supported: ['read'] }
  assert.is(await call(), 'in')
  issuer.good.clear()
  assert.is(await call(), 'in')
  const { form, authorization } = issuer.of('/token')[0] ?? {}
  assert.equal(form, { grant_type: 'client_credentials', scope: 'read', resource: server.url })
  assert.is(authorization, `Basic ${btoa('me:s')}`)
  assert.equal(
    [issuer.of('/token').length, issuer.of('/register').length, issuer.of('/authorize').length],
    [2, 0, 0],
  )
})

test('client_credentials with a key sends only a signed assertion for the issuer', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  for (const type of ['pkcs8', 'sec1'] as const) {
    const pem = privateKey.export({ format: 'pem', type }) as string
    const client = { id: 'me', privateKey: pem, keyId: 'k1' }
    const { issuer, call } = await start(t, { grant: 'client_credentials', client })
    assert.is(await call(), 'in')
    const { form = {} } = issuer.of('/token')[0] ?? {}
    assert.is(form.client_id, undefined)
    const assertion = form.client_assertion ?? ''
    const key = await importSPKI(publicKey.export({ format: 'pem', type: 'spki' }) as string, 'ES256')
    await jwtVerify(assertion, key, { issuer: 'me', subject: 'me', audience: issuer.issuer })
    assert.equal([decodeProtectedHeader(assertion).kid, typeof decodeJwt(assertion).jti], ['k1', 'string'])
  }
})

test('enterprise: the ID token is exchanged at the IdP, the assertion at the server', async (t) => {
  const idp = await startOAuthServer(t)
  idp.instead = () => ({
    status: 200,
    body: {
      access_token: 'id-jag',
      issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      token_type: 'N_A',
    },
  })
  const { issuer, server, call } = await start(t, {
    client: { id: 'me', secret: 's', issuer: 'mine' },
    enterprise: { idToken: async () => 'id-token', tokenEndpoint: `${idp.issuer}/token`, clientId: 'at-idp' },
  })
  assert.is(await call(), 'in')
  const exchange = idp.of('/token')[0]?.form ?? {}
  assert.equal(
    [exchange.audience, exchange.resource, exchange.subject_token, exchange.client_id],
    [issuer.issuer, server.url, 'id-token', 'at-idp'],
  )
  assert.equal(exchange.requested_token_type, 'urn:ietf:params:oauth:token-type:id-jag')
  assert.is(issuer.of('/token')[0]?.form.assertion, 'id-jag')
})

test('programs that share a folder share tokens and use a rotating refresh token once', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'caduceus-auth-'))
  t.after(() => rm(parent, { recursive: true, force: true }))
  const folder = join(parent, 'tokens')
  const { issuer, server, call } = await start(t, { signIn: quickSignIn(), storage: fileAuthStorage(folder) })
  assert.is(await call(), 'in')
  issuer.good.clear()
  const program = fileURLToPath(new URL('./_program.js', import.meta.url))
  const outputs = Array.from({ length: 3 }, async () => {
    const child = spawn(process.execPath, [program, server.url, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    const [code] = await once(child, 'close')
    return [code, text.trim()]
  })
  assert.equal(await Promise.all(outputs), Array(3).fill([0, 'in,in']))
  assert.equal([issuer.reuses, issuer.of('/authorize').length, issuer.of('/token').length], [0, 1, 2])
  const files = await readdir(folder)
  assert.ok(files.length > 0 && files.every((name) => name.endsWith('.json')))
  for (const name of files) assert.not.match(name, /127\.0|access/)
  assert.ok(
    (await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))).some((text) =>
      /access-/.test(text),
    ),
  )
})

test('signing out forgets the tokens, and a closed provider gives none', async (t) => {
  const signIn = quickSignIn()
  const { server, auth, call } = await start(t, { signIn })
  await call()
  await call()
  assert.is(signIn.opened.length, 1)
  await auth.signOut(server.url)
  await call()
  assert.is(signIn.opened.length, 2)
  await auth.close()
  await auth.close()
  assert.match(String(await call().catch((error: Error) => error)), /closed/)
})

test.run()
