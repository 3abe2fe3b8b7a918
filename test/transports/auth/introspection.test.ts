import * as assert from 'uvu/assert'
import { introspection, type IntrospectionOptions, TransportError } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { resource, startAuthorizationServer } from './_authorization-server.js'

const test = suite('auth introspection')
const client = { id: 'mcp server', secret: 'cänary:of the client' }
const use = { resource, signal: new AbortController().signal }

async function start(t: TestContext, options: Partial<IntrospectionOptions> = {}) {
  const issuer = await startAuthorizationServer(t)
  const verify = introspection({
    issuer: issuer.issuer,
    endpoint: `${issuer.issuer}/introspect`,
    client,
    ...options,
  })
  const outcome = async (token: string, network?: string) => {
    try {
      return (await verify(token, { ...use, ...(network !== undefined && { network }) })) ?? 'not active'
    } catch (error) {
      assert.instance(error, TransportError)
      assert.not.match(String(error), /canary|opaque-/)
      return `${(error as TransportError).code}: ${(error as Error).message}`
    }
  }
  return { issuer, outcome }
}

test('introspection asks the authorization server as this client', async (t) => {
  const { issuer, outcome } = await start(t)
  const claims = { sub: 'ada', aud: resource, scope: 'read write', client_id: 'app' }
  issuer.opaque.set('opaque-1', claims)
  assert.equal(await outcome('opaque-1'), {
    issuer: issuer.issuer,
    subject: 'ada',
    clientId: 'app',
    scopes: ['read', 'write'],
    claims: { active: true, ...claims },
  })
  const pair = Buffer.from(String(issuer.introspected[0]?.authorization).slice('Basic '.length), 'base64')
  const parts = pair
    .toString()
    .split(':')
    .map((part) => new URLSearchParams(`=${part}`).get(''))
  assert.equal(parts, [client.id, client.secret])
  assert.is(await outcome('opaque-2'), 'not active')
  const exp = Math.floor(Date.now() / 1_000) + 60
  issuer.opaque.set('opaque-3', { ...claims, exp, iss: issuer.issuer })
  assert.is(Reflect.get(Object(await outcome('opaque-3')), 'expiresAt'), exp * 1_000)
})

test('a token for other resources, issuers or nobody, expired or bound, is refused', async (t) => {
  const { issuer, outcome } = await start(t)
  const good = { sub: 'ada', aud: resource }
  const bad = {
    'another resource': { ...good, aud: 'https://other.example' },
    'no audience': { sub: 'ada' },
    'another issuer': { ...good, iss: 'https://evil.example' },
    nobody: { aud: resource },
    expired: { ...good, exp: 1 },
    'not yet valid': { ...good, nbf: 4_000_000_000 },
    bound: { ...good, cnf: {} },
  }
  for (const [what, claims] of Object.entries(bad)) {
    issuer.opaque.set(`opaque-${what}`, claims)
    assert.match(String(await outcome(`opaque-${what}`)), /^UNAUTHORIZED: the token/, what)
  }
})

test('an introspection is cached for a time, shared and bounded', async (t) => {
  const { issuer, outcome } = await start(t, { maxCached: 2 })
  for (const n of [1, 2, 3]) issuer.opaque.set(`opaque-${n}`, { sub: `user ${n}`, aud: resource })
  await Promise.all([outcome('opaque-1'), outcome('opaque-1'), outcome('opaque-1')])
  await outcome('opaque-1')
  assert.is(issuer.introspected.length, 1)
  await outcome('opaque-2')
  await outcome('opaque-3')
  assert.is(Reflect.get(Object(await outcome('opaque-3')), 'subject'), 'user 3')
  assert.is(issuer.introspected.length, 3)
  await outcome('opaque-1')
  assert.is(issuer.introspected.length, 4, 'the oldest has gone')
})

test('with a cache time of 0 a token that was revoked is refused at once', async (t) => {
  const { issuer, outcome } = await start(t, { cacheTime: 0 })
  issuer.opaque.set('opaque-1', { sub: 'ada', aud: resource })
  assert.is(Reflect.get(Object(await outcome('opaque-1')), 'subject'), 'ada')
  issuer.opaque.delete('opaque-1')
  assert.is(await outcome('opaque-1'), 'not active')
})

test('a failing authorization server fails the request and is asked again by the next', async (t) => {
  const { issuer, outcome } = await start(t)
  issuer.opaque.set('opaque-1', { sub: 'ada', aud: resource })
  issuer.broken = true
  assert.match(String(await outcome('opaque-1')), /^AUTHORIZATION_UNAVAILABLE: .*\/introspect: status 500$/)
  issuer.broken = false
  assert.is(Reflect.get(Object(await outcome('opaque-1')), 'subject'), 'ada')
})

test('concurrent introspections are bounded', async (t) => {
  const { issuer, outcome } = await start(t, { maxAtOnce: 3 })
  issuer.silent = true
  const [one, two, three, ...others] = Array.from({ length: 10 }, (_, n) => outcome(`opaque-${n}`))
  for (const said of await Promise.all(others)) assert.match(String(said), /3 questions already/)
  while (issuer.asked.length < 3) await new Promise(setImmediate)
  issuer.hangUp()
  for (const said of await Promise.all([one, two, three])) assert.match(String(said), /\/introspect: /)
  assert.is(issuer.asked.length, 3)
})

test.slow('made-up tokens of one network leave questions for others', async (t) => {
  const { issuer, outcome } = await start(t, { maxAtOnce: 4, fetchTimeout: 1_000 })
  issuer.opaque.set('opaque-good', { sub: 'ada', aud: resource })
  issuer.silent = true
  const made = Array.from({ length: 10 }, (_, n) => outcome(`opaque-made-up-${n}`, '192.0.2.1'))
  while (issuer.asked.length < 3) await new Promise(setImmediate)
  issuer.silent = false
  assert.is(Reflect.get(Object(await outcome('opaque-good', '192.0.2.2')), 'subject'), 'ada')
  const refused = (await Promise.all(made)).filter((said) => /3 questions for one network/.test(String(said)))
  assert.is(refused.length, 7)
})

test('introspection options without endpoint or client are refused, secrets hidden', () => {
  const good = { issuer: 'https://as.example', endpoint: 'https://as.example/introspect', client }
  const refused = (changes: object, problem: RegExp) =>
    assert.throws(
      () => introspection({ ...good, ...changes }),
      (error: Error) => {
        assert.match(error.message, problem)
        return !/canary/.test(error.message)
      },
    )
  refused({ endpoint: 'http://as.example' }, /introspection\.endpoint: expected an https/)
  refused({ issuer: undefined }, /introspection\.issuer: expected/)
  refused({ client: 'canary' }, /introspection\.client: expected/)
  refused({ client: { id: 'x', secret: ['canary'] } }, /introspection\.client\.secret: expected a string/)
  refused({ cacheTime: -1 }, /introspection\.cacheTime: expected/)
  refused({ token: 'x' }, /token: expected an option among/)
})

test.run()
