import { Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { createFakeClock, systemWorld, type World } from 'caduceus/runtime'
import { introspection, jwt } from 'caduceus/transports'
import { worldOn } from '../../support/world.js'
import { identify } from '../../../transports/auth/authenticate.js'
import { fetchJson } from '../../../transports/http/outgoing/fetch.js'
import { suite } from '../../support/suite.js'
import { resource, startAuthorizationServer } from './_authorization-server.js'

const test = suite('auth and the world of its listener')
const now = 1_000_000_000_000
const peer = { transport: 'http', headers: {}, remoteAddress: undefined }

/** A world whose time the test sets. */
function worldOfTest() {
  const time = { passed: 0 }
  const world: World = { ...systemWorld, now: () => time.passed, date: () => now + time.passed }
  return { time, world }
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

test('a token expires by the listener clock, and so does the cached result', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const { time, world } = worldOfTest()
  const verify = jwt({ issuer: issuer.issuer, cacheTime: 1_000, clockTolerance: 0, cooldown: 10 })
  const token = await issuer.issue({ iat: now / 1_000, exp: now / 1_000 + 60 })
  const ask = async () => verify(token, { resource, signal: t.signal, world })
  assert.is((await ask())?.subject, 'ada')
  time.passed = 59_000
  assert.is((await ask())?.subject, 'ada')
  time.passed = 59_999
  await ask() // as kept
  time.passed = 61_000
  assert.is(await ask().then(() => 'let in', codeOf), 'UNAUTHORIZED')
})

test('an introspection result is renewed by the listener clock', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const { time, world } = worldOfTest()
  const { endpoint, client } = { endpoint: `${issuer.issuer}/introspect`, client: { id: 'a', secret: 'b' } }
  const verify = introspection({ issuer: issuer.issuer, endpoint, client, cacheTime: 1_000 })
  issuer.opaque.set('x', { sub: 'ada', aud: resource, exp: now / 1_000 + 60 })
  const ask = async () => verify('x', { resource, signal: t.signal, world })
  for (const passed of [0, 999, 1_000]) {
    time.passed = passed
    assert.is((await ask())?.subject, 'ada')
  }
  assert.is(issuer.introspected.length, 2)
  time.passed = 60_000
  assert.is(await ask().then(() => 'let in', codeOf), 'UNAUTHORIZED')
})

test('authenticate gets the world of the listener and must settle in its time', async () => {
  const clock = createFakeClock()
  const world = worldOn(clock)
  const seen: World[] = []
  const settings = {
    authenticate: (_peer: unknown, how: { readonly world: World }) => {
      seen.push(how.world)
      return new Promise<undefined>(() => {})
    },
    auth: undefined,
    timeouts: { authenticate: 5_000 },
  }
  const outcome = identify(
    { peer, request: { rawHeaders: [], socket: new Socket() } },
    settings,
    world,
  ).catch(codeOf)
  await clock.advance(5_000)
  assert.is(await outcome, 'AUTHENTICATE_TIMEOUT')
  assert.equal([seen.length, seen[0] === world, clock.pending], [1, true, 0])
})

test('a fetch times out by the given clock, and its timer ends with the answer', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const clock = createFakeClock()
  const keys = `${issuer.issuer}/jwks`
  assert.ok('keys' in (await fetchJson(keys, { timeout: 1_000, clock })))
  assert.is(clock.pending, 0)
  issuer.silent = true
  const late = fetchJson(keys, { timeout: 1_000, clock }).catch(codeOf)
  assert.is(clock.pending, 1)
  await clock.advance(1_000)
  assert.is(await late, 'AUTHORIZATION_UNAVAILABLE')
})

test.run()
