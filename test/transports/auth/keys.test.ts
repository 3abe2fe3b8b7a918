import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { JWK } from 'jose'
import * as assert from 'uvu/assert'
import { createFakeClock, systemClock } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { fetchJson } from '../../../transports/http/outgoing/fetch.js'
import { IssuerKeys, keysOf } from '../../../transports/auth/keys.js'
import { suite, type TestContext } from '../../support/suite.js'
import { startAuthorizationServer } from './_authorization-server.js'

const test = suite('auth keys')
const [cooldown, maxAge, fetchTimeout] = [30, 600, 5_000]

async function start(t: TestContext) {
  const issuer = await startAuthorizationServer(t)
  const time = { now: 0 }
  const load = () => fetchJson(`${issuer.issuer}/jwks`, { timeout: 30_000 })
  const keys = new IssuerKeys({ load, cooldown, maxAge, fetchTimeout })
  const clock = { ...systemClock, now: () => time.now }
  const find = async (kid = String(issuer.publicKey().kid)) => {
    try {
      await keys.findBy(clock)({ alg: 'ES256', kid }, { payload: '', signature: '' })
      return 'found'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  return { issuer, time, find, fetches: () => issuer.asked.length }
}

const unknown = 'ERR_JWKS_NO_MATCHING_KEY'
const away = 'AUTHORIZATION_UNAVAILABLE'

test('unknown keys are fetched once per cool-down, however many ask', async (t) => {
  const { find, fetches, time } = await start(t)
  assert.is(await find(), 'found')
  const flood = await Promise.all(Array.from({ length: 100 }, (_, n) => find(`k${n}`)))
  assert.equal([new Set(flood), fetches()], [new Set([unknown]), 1])
  time.now = cooldown
  await Promise.all(Array.from({ length: 100 }, (_, n) => find(`k${n}`)))
  assert.is(fetches(), 2)
  assert.is(await find('k'), unknown)
  assert.is(fetches(), 2)
})

test('a new key is found once the cool-down is over', async (t) => {
  const { issuer, find, time } = await start(t)
  assert.is(await find(), 'found')
  const old = String(issuer.publicKey().kid)
  await issuer.rotate()
  assert.is(await find(), unknown)
  time.now = cooldown
  assert.is(await find(), 'found')
  assert.is(await find(old), unknown, 'and the old one is none any more')
})

test('a possibly new key is not refused during an issuer outage', async (t) => {
  const { issuer, find, time, fetches } = await start(t)
  assert.is(await find(), 'found')
  const old = String(issuer.publicKey().kid)
  await issuer.rotate()
  issuer.broken = true
  time.now = cooldown
  assert.equal([await find(), await find(), fetches()], [away, away, 2])
  assert.is(await find(old), 'found')
  issuer.broken = false
  time.now = 2 * cooldown
  assert.is(await find(), 'found')
  assert.is(await find('made-up'), unknown)
})

test('a revoked key is valid until the key set is old', async (t) => {
  const { issuer, find, time, fetches } = await start(t)
  const old = String(issuer.publicKey().kid)
  await find()
  await issuer.rotate()
  time.now = maxAge
  assert.equal([await find(old), fetches()], ['found', 1])
  time.now = maxAge + 1
  assert.equal([await find(old), fetches()], [unknown, 2])
})

test('keys that cannot be used are ignored, and an issuer without others has none', async (t) => {
  const { issuer } = await start(t)
  const good = issuer.publicKey()
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const odd = [
    ...[null, 7, 'key', {}, { kty: 'oct', k: 'AAAA' }, { ...good, x: 'AA' }, { ...good, use: 'enc' }],
    { kty: 'RSA', n: '!!!', e: 'AQAB' },
    { ...publicKey.export({ format: 'jwk' }), kid: 'short' },
  ]
  const keysOfIssuer = (all: readonly unknown[]) =>
    new IssuerKeys({ load: async () => ({ keys: [...all] }), cooldown, maxAge, fetchTimeout })
  const find = async (keys: IssuerKeys, kid: unknown): Promise<string> => {
    try {
      await keys.findBy(systemClock)({ alg: 'ES256', kid: String(kid) }, { payload: '', signature: '' })
      return 'found'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  assert.is(await find(keysOfIssuer([...odd, good]), good.kid), 'found')
  assert.is(await find(keysOfIssuer([...odd, good]), 'short'), unknown)
  for (const all of [odd, []]) assert.is(await find(keysOfIssuer(all), good.kid), away)
})

test('an issuer that hangs holds nobody whose key is known for more than a moment', async (t) => {
  const { issuer } = await start(t)
  const key = issuer.publicKey()
  const answers = [Promise.resolve({ keys: [key] }), new Promise<never>(() => {})]
  let loads = 0
  const keys = new IssuerKeys({
    load: () => answers[loads++] ?? Promise.reject(new Error('asked too often')),
    cooldown,
    maxAge,
    fetchTimeout,
  })
  const clock = createFakeClock()
  const found: string[] = []
  const find = async (name: string) => {
    await keys.findBy(clock)({ alg: 'ES256', kid: String(key.kid) }, { payload: '', signature: '' })
    found.push(name)
  }
  await find('at first')
  await clock.advance(maxAge + 1)
  const [one, two] = [find('one'), find('two')]
  await clock.advance(999)
  assert.equal(found, ['at first'])
  await clock.advance(1)
  await Promise.all([one, two])
  await find('three')
  assert.equal([found, loads], [['at first', 'one', 'two', 'three'], 2])
})

test('an unreachable issuer is asked once per cool-down; known keys stay for a while', async (t) => {
  const { issuer, find, time, fetches } = await start(t)
  issuer.broken = true
  const all = await Promise.all([find(), find(), find()])
  assert.equal(
    [all, await find(), fetches()],
    [Array(3).fill('AUTHORIZATION_UNAVAILABLE'), 'AUTHORIZATION_UNAVAILABLE', 1],
  )
  issuer.broken = false
  time.now = cooldown
  assert.is(await find(), 'found')
  issuer.broken = true
  time.now = 6 * maxAge + cooldown
  assert.is(await find(), 'found')
  time.now += 1
  assert.is(await find(), 'AUTHORIZATION_UNAVAILABLE')
  assert.is(fetches(), 3)
})

test('without any key an issuer that was away is asked again soon, and ever later', async () => {
  const time = { now: 0 }
  const clock = { ...systemClock, now: () => time.now }
  const asked: number[] = []
  const load = async () => {
    asked.push(time.now)
    throw new TransportError('AUTHORIZATION_UNAVAILABLE', 'away')
  }
  const keys = new IssuerKeys({ load, cooldown: 30_000, maxAge: 600_000, fetchTimeout })
  for (; time.now < 130_000; time.now += 250)
    await Promise.resolve(keys.findBy(clock)({ alg: 'ES256' }, { payload: '', signature: '' })).catch(
      () => {},
    )
  assert.equal(asked, [0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000, 121_000])
})

test('a fetch that never ends is followed by another one', async (t) => {
  const { issuer } = await start(t)
  const key = issuer.publicKey()
  const never = new Promise<never>(() => {})
  // as where a host ends what a request began, because its client has gone
  const answers = [never, Promise.resolve({ keys: [key] }), never]
  let loads = 0
  const keys = new IssuerKeys({
    load: () => answers[loads++] ?? Promise.reject(new Error('asked too often')),
    ...{ cooldown: 30_000, maxAge: 600_000, fetchTimeout },
  })
  const time = { now: 0 }
  const clock = { ...systemClock, now: () => time.now }
  const find = async (kid = String(key.kid)) => {
    await keys.findBy(clock)({ alg: 'ES256', kid }, { payload: '', signature: '' })
    return 'found'
  }
  void find()
  await Promise.resolve()
  time.now = fetchTimeout
  assert.is(await find(), 'found')
  assert.is(loads, 2)
  time.now += 30_000
  void find('k') // the next one does not end either: the known key goes on
  await Promise.resolve()
  time.now += fetchTimeout
  assert.is(await find(), 'found')
  assert.is(await find('k').catch(({ code }) => code), away)
  assert.is(loads, 3)
})

test('keys that come after the fetch was given up are taken', async (t) => {
  const { issuer } = await start(t)
  const key = issuer.publicKey()
  let arrive: (document: { keys: JWK[] }) => void = () => {}
  const slow = new Promise<{ keys: JWK[] }>((resolve) => {
    arrive = resolve
  })
  const answers = [slow, new Promise<never>(() => {})]
  let loads = 0
  const load = () => (answers[loads++] ?? slow) as Promise<never>
  const keys = new IssuerKeys({ load, cooldown: 30_000, maxAge: 600_000, fetchTimeout })
  const time = { now: 0 }
  const clock = { ...systemClock, now: () => time.now }
  const find = async () =>
    keys.findBy(clock)({ alg: 'ES256', kid: String(key.kid) }, { payload: '', signature: '' })
  const first = find()
  await Promise.resolve()
  time.now = fetchTimeout
  void find()
  arrive({ keys: [key] })
  await first
  await find()
  assert.is(loads, 2)
})

test('keys moved to another address are found', async (t) => {
  const [issuer, other] = [await startAuthorizationServer(t), await startAuthorizationServer(t)]
  const load = keysOf({ issuer: issuer.issuer, jwks: undefined, fetchTimeout: 5_000 })
  const kids = async () =>
    ((await load(systemClock)) as { keys: { kid: string; x: string }[] }).keys.map(({ x }) => x)
  assert.equal(await kids(), [issuer.publicKey().x])
  issuer.metadata = { jwks_uri: `${other.issuer}/jwks` }
  assert.equal(await kids(), [issuer.publicKey().x], 'while they are there, nobody looks elsewhere')
  issuer.broken = true
  assert.match(String(await kids().catch(String)), /status 500/)
  issuer.broken = false
  assert.equal(await kids(), [other.publicKey().x])
})

test('a malformed key set is reported as such', async () => {
  for (const loaded of [{}, { keys: 'x' }, { keys: [1] }]) {
    const keys = new IssuerKeys({ load: async () => loaded, cooldown, maxAge, fetchTimeout })
    const finding = Promise.resolve(
      keys.findBy(systemClock)({ alg: 'ES256' }, { payload: '', signature: '' }),
    )
    const error = await finding.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    assert.instance(error, TransportError)
  }
})

test('a non-JSON, too long, redirecting or late key answer is refused', async (t) => {
  const bodies: { readonly [path: string]: string } = {
    '/list': '[]',
    '/text': 'canary of a page',
    '/long': `"${'a'.repeat(2 * 1024 * 1024)}"`,
  }
  const server = createServer((request, response) => {
    const [path = ''] = String(request.url).split('?')
    if (path === '/silent') return
    if (path === '/moved') return response.writeHead(302, { location: '/list' }).end()
    response.end(bodies[path])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as { port: number }
  const problem = (path: string, timeout = 5_000) =>
    fetchJson(`http://127.0.0.1:${port}${path}?canary`, { timeout }).then(
      String,
      (error: Error) => error.message,
    )
  assert.match(await problem('/list'), /\/list: expected a JSON object$/)
  assert.match(await problem('/text'), /\/text: expected a JSON object$/)
  assert.match(await problem('/long'), /1048576 bytes/)
  assert.match(await problem('/moved'), /\/moved: status 302$/)
  assert.match(await problem('/silent', 50), /\/silent: /)
  for (const path of ['/list', '/text', '/moved']) assert.not.match(await problem(path), /canary/)
})

test.run()
