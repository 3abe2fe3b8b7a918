import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { fileAuthStorage, memoryAuthStorage, oauth, type OAuthOptions } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, watch } from '../_raw.js'
import { type GuardedServer, quickSignIn, startGuarded, startOAuthServer } from './_oauth.js'

const test = suite('DPoP of the OAuth client', { timeout: 15_000 })

const algorithms = { dpop_signing_alg_values_supported: ['RS256', 'ES256'] }

async function setup(t: TestContext) {
  const issuer = await startOAuthServer(t)
  Object.assign(issuer.metadata, algorithms)
  return { issuer, server: await startGuarded(t, issuer) }
}

function connect(t: TestContext, server: GuardedServer, options: OAuthOptions = {}) {
  const signIn = quickSignIn()
  const auth = oauth({ signIn, dpop: true, ...options })
  t.after(() => auth.close())
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  return { client, auth, signIn }
}

test('a token is bound to a key, and each request has a proof of its own', async (t) => {
  const { issuer, server } = await setup(t)
  const { client } = connect(t, server)
  const calls = Array.from({ length: 20 }, () => client.callTool('x'))
  for (const { text } of await Promise.all(calls)) assert.is(text, 'in')
  assert.equal(server.problems, [])
  assert.is(new Set(issuer.bound.values()).size, 1)
})

test('a refresh keeps the key, and scopes are asked for with another one', async (t) => {
  const { issuer, server } = await setup(t)
  const { client, signIn } = connect(t, server)
  await client.callTool('x')
  issuer.good.clear()
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal([new Set(issuer.bound.values()).size, signIn.opened.length], [1, 1])
  server.wants.set('write', 'write')
  assert.is((await client.callTool('write')).text, 'in')
  assert.equal([new Set(issuer.bound.values()).size, signIn.opened.length], [2, 2])
  assert.equal(server.problems, [])
})

test('nonces of both servers are stored, sent and renewed', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.nonce = 'of-the-issuer'
  server.nonce = 'first'
  const { client, signIn } = connect(t, server)
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(issuer.of('/token').length, 2)
  const { length } = server.problems
  await client.callTool('x')
  assert.is(server.problems.length, length)
  server.nonce = 'second'
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(server.problems.length, length + 1)
  assert.is(signIn.opened.length, 1)
})

test('a server that always demands a new nonce is not asked for ever', async (t) => {
  const { server } = await setup(t)
  const { client, signIn } = connect(t, server)
  await client.callTool('x')
  let count = 0
  Object.defineProperty(server, 'nonce', { get: () => `nonce-${count++}` })
  const error = await rejection(client.callTool('x'))
  assert.match(error.message, /401|refuse|nonce/i)
  assert.is(signIn.opened.length, 1)
  assert.ok(server.problems.length <= 3)
})

test('a refused proof fails the request without a new sign-in', async (t) => {
  const { issuer, server } = await setup(t)
  const { client, signIn } = connect(t, server)
  await client.callTool('x')
  for (const token of issuer.bound.keys()) issuer.bound.set(token, 'another key')
  assert.match((await rejection(client.callTool('x'))).message, /invalid_dpop_proof/)
  assert.is(signIn.opened.length, 1)
})

test('a bearer token in place of a DPoP token is refused', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.instead = () => ({ status: 200, body: { access_token: 'free', token_type: 'Bearer' } })
  const { client } = connect(t, server)
  assert.match((await rejection(client.callTool('x'))).message, /not bound to our key/)
})

test('without a common DPoP algorithm no token is requested', async (t) => {
  const { issuer, server } = await setup(t)
  for (const values of [undefined, [], ['RS512'], 'ES256']) {
    issuer.metadata.dpop_signing_alg_values_supported = values
    const { client } = connect(t, server)
    assert.match((await rejection(client.callTool('x'))).message, /DPoP with ES256, EdDSA or ES384/)
  }
  Object.assign(issuer.metadata, algorithms)
  server.metadata = { dpop_signing_alg_values_supported: ['EdDSA'] }
  assert.match((await rejection(connect(t, server).client.callTool('x'))).message, /DPoP with/)
  assert.equal(issuer.of('/token'), [])
})

test('the best algorithm that both sides know is chosen', async (t) => {
  for (const name of ['ES256', 'ES384', 'EdDSA']) {
    const { issuer, server } = await setup(t)
    issuer.metadata.dpop_signing_alg_values_supported = ['RS256', 'ES384', 'EdDSA', 'ES256']
    server.metadata = { dpop_signing_alg_values_supported: [name] }
    const { client } = connect(t, server)
    assert.is((await client.callTool('x')).text, 'in')
    const proof = server.seen.all.at(-1)?.headers.dpop as string
    const head = JSON.parse(Buffer.from(proof.split('.')[0] ?? '', 'base64url').toString())
    assert.equal([head.alg, head.jwk.d], [name, undefined])
  }
})

test('a server that takes bound tokens only tells what option is missing', async (t) => {
  const { server } = await setup(t)
  server.metadata = { dpop_bound_access_tokens_required: true }
  const { client } = connect(t, server, { dpop: false })
  assert.match((await rejection(client.callTool('x'))).message, /the option dpop/)
})

test('key and tokens survive a restart together; a lost key means a new sign-in', async (t) => {
  const { server } = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-dpop-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const begin = () => connect(t, server, { storage: fileAuthStorage(folder) })
  await begin().client.callTool('x')
  const second = begin()
  assert.is((await second.client.callTool('x')).text, 'in')
  assert.is(second.signIn.opened.length, 0)
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), 'utf8')
    await writeFile(join(folder, name), text.replace(/"d": *"[^"]*"/, '"d":"no"'))
  }
  const third = begin()
  assert.is((await third.client.callTool('x')).text, 'in')
  assert.is(third.signIn.opened.length, 1)
  assert.equal(server.problems, [])
})

test('a DPoP provider ignores stored bearer tokens, and a bearer provider bound ones', async (t) => {
  const { server } = await setup(t)
  const storage = memoryAuthStorage()
  for (const dpop of [false, true, false]) {
    const { client, signIn } = connect(t, server, { storage, dpop })
    assert.is((await client.callTool('x')).text, 'in')
    assert.is(signIn.opened.length, 1)
  }
  assert.equal(server.problems, [])
})

test('no key is in an error', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.instead = () => ({ status: 400, body: { error: 'invalid_grant' } })
  const error = await rejection(connect(t, server).client.callTool('x'))
  assert.not.match(JSON.stringify(error), /"d":/)
})

test.run()
