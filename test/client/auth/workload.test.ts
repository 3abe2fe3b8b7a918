import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt, SignJWT } from 'jose'
import * as assert from 'uvu/assert'
import {
  memoryAuthStorage,
  oauth,
  type OAuthOptions,
  type WorkloadOptions,
  type WorkloadRequest,
} from 'caduceus/client'
import { http } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, watch } from '../_raw.js'
import { type GuardedServer, startGuarded, startOAuthServer } from './_oauth.js'

const test = suite('workload identity of the OAuth client')

async function setup(t: TestContext) {
  const issuer = await startOAuthServer(t)
  return { issuer, server: await startGuarded(t, issuer) }
}

function connect(t: TestContext, server: GuardedServer, workload: WorkloadOptions, more: OAuthOptions = {}) {
  const auth = oauth({ workload, ...more })
  t.after(() => auth.close())
  return watch(t, { transport: http(server.url, { auth, stream: false }) }).client
}

/** As a platform makes it. */
function identity(
  audience: string | string[],
  subject = 'system:serviceaccount:default:agent',
): Promise<string> {
  const jwt = new SignJWT({ iss: 'https://platform.example', sub: subject, aud: audience })
  return jwt.setProtectedHeader({ alg: 'HS256' }).setExpirationTime('5 min').sign(new Uint8Array(32))
}

test('the platform JWT is exchanged for a token without a client and without a user', async (t) => {
  const { issuer, server } = await setup(t)
  server.metadata = { scopes_supported: ['read'] }
  const asked: WorkloadRequest[] = []
  const token = async (request: WorkloadRequest): Promise<string> => {
    asked.push(request)
    return identity(request.audience)
  }
  const client = connect(t, server, { token })
  assert.is((await client.callTool('x')).text, 'in')
  const { form = {}, authorization } = issuer.of('/token')[0] ?? {}
  const { assertion, ...rest } = form
  assert.equal(rest, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    scope: 'read',
    resource: server.url,
  })
  assert.is(assertion?.split('.').length, 3)
  assert.is(authorization, undefined)
  const { signal, ...facts } = asked[0] as WorkloadRequest
  assert.ok(signal instanceof AbortSignal)
  assert.equal(facts, { audience: `${issuer.issuer}/token`, issuer: issuer.issuer, resource: server.url })
  assert.equal([issuer.of('/register').length, issuer.of('/authorize').length], [0, 0])
})

test('the file of the platform is read anew for each token', async (t) => {
  const { issuer, server } = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-workload-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'token')
  const client = connect(t, server, { file })
  assert.match((await rejection(client.callTool('x'))).message, /workload\.file cannot be read: ENOENT/)
  const sent: (string | undefined)[] = []
  for (const subject of ['one', 'two']) {
    await writeFile(file, `${await identity(issuer.issuer, subject)}\n`)
    issuer.good.clear()
    const again = connect(t, server, { file })
    assert.is((await again.callTool('x')).text, 'in')
    sent.push(issuer.of('/token').at(-1)?.form.assertion)
  }
  assert.is(new Set(sent).size, 2)
})

test('two workloads on one storage are not taken for each other', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  for (const subject of ['one', 'two']) {
    const client = connect(t, server, { token: ({ audience }) => identity(audience, subject) }, { storage })
    assert.is((await client.callTool('x')).text, 'in')
    await client.callTool('x')
  }
  const subjects = issuer.of('/token').map(({ form }) => decodeJwt(form.assertion ?? '').sub)
  assert.equal(subjects, ['one', 'two'])
})

test('a refused token is replaced by one from a new JWT', async (t) => {
  const { issuer, server } = await setup(t)
  let count = 0
  const token = ({ audience }: WorkloadRequest) => identity([audience, 'other'], `agent ${count++}`)
  const client = connect(t, server, { token })
  await client.callTool('x')
  issuer.good.clear()
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(count, 2)
})

test('a JWT goes only to its own issuer, whatever issuer a resource names', async (t) => {
  const { issuer, server } = await setup(t)
  const foreign = connect(t, server, { token: () => identity('https://login.example') })
  assert.match((await rejection(foreign.callTool('x'))).message, /not for .*\/token.* \(aud\)/)
  const chosen = { token: () => identity('any'), issuer: 'https://login.example' }
  assert.match((await rejection(connect(t, server, chosen).callTool('x'))).message, /workload\.issuer is/)
  assert.equal(issuer.of('/token'), [])
  const trusted = connect(t, server, { token: () => identity('any'), issuer: issuer.issuer })
  assert.is((await trusted.callTool('x')).text, 'in')
})

test('a file without a JWT is not sent and not quoted in errors', async (t) => {
  const { issuer, server } = await setup(t)
  const bad = ['', 'canary', 'canary.b.c', 'canary.W10.c', 'canary.e30.c d', `canary.${btoa('{}')}.c.d`]
  for (const text of bad) {
    const error = await rejection(connect(t, server, { token: () => text }).callTool('x'))
    assert.match(error.message, /expected a JWT|not for/)
    assert.not.match(JSON.stringify(error) + error.message, /canary/)
  }
  const thrown = connect(t, server, { token: () => Promise.reject(new Error('the platform is away')) })
  assert.match((await rejection(thrown.callTool('x'))).message, /the platform is away/)
  assert.equal(issuer.of('/token'), [])
})

test('a refusal of the authorization server rejects without a fallback', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.instead = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'who is it' } })
  const client = connect(t, server, { token: ({ audience }) => identity(audience) })
  assert.match((await rejection(client.callTool('x'))).message, /invalid_grant: who is it/)
  assert.equal([issuer.of('/register').length, issuer.of('/authorize').length], [0, 0])
})

test('a workload token is bound to a key; with a nonce retry its JWT is sent once', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.metadata.dpop_signing_alg_values_supported = ['ES256']
  issuer.nonce = 'n'
  let count = 0
  const token = ({ audience }: WorkloadRequest) => identity(audience, `agent ${count++}`)
  const client = connect(t, server, { token }, { dpop: true })
  assert.is((await client.callTool('x')).text, 'in')
  const sent = issuer.of('/token').map(({ form }) => form.assertion)
  assert.equal([sent.length, new Set(sent).size, count], [2, 2, 2])
  assert.equal([server.problems, issuer.bound.size > 0], [[], true])
})

test('options of a workload that cannot work are refused, and no token is shown', () => {
  const token = () => 'canary'
  const bad: [object, RegExp][] = [
    [{ workload: {} }, /workload: expected either token or file/],
    [{ workload: { token, file: '/x' } }, /workload: expected either token or file/],
    [{ workload: { token: 'canary' } }, /workload\.token: expected a function/],
    [{ workload: { file: 7 } }, /workload\.file/],
    [{ workload: { token, issuer: 'http://a.example' } }, /workload\.issuer: expected an https address/],
    [{ workload: { token, nonsense: 1 } }, /nonsense/],
    [{ workload: { token }, client: { id: 'me' } }, /client: expected nothing beside workload/],
    [{ workload: { token }, grant: 'client_credentials' }, /grant: expected nothing beside workload/],
    [{ dpop: 'yes' }, /dpop/],
  ]
  for (const [options, expected] of bad)
    try {
      oauth(options as OAuthOptions)
      assert.unreachable()
    } catch (error) {
      assert.match(String(error), expected)
      assert.not.match(String(error), /canary/)
    }
})

test.run()
