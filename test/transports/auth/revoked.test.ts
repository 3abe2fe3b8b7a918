import * as assert from 'uvu/assert'
import { systemWorld, type World } from 'caduceus/runtime'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import {
  type Authenticate,
  type AuthOptions,
  introspection,
  serveHttp,
  type ServerTransport,
  serveSse,
  serveWebSocket,
} from 'caduceus/transports'
import { identify, readAuthenticate } from '../../../transports/auth/authenticate.js'
import { readListenerAuth } from '../../../transports/auth/listener-auth.js'
import { isWatched, TokenWatch } from '../../../transports/auth/token-watch.js'
import { Socket } from 'node:net'
import { RawClient } from '../../server/_client.js'
import { posted } from '../../server/_stateless.js'
import { suite, type TestContext } from '../../support/suite.js'
import { greet, open, type RawSocket } from '../websocket/_websocket.js'
import { resource, startAuthorizationServer } from './_authorization-server.js'
import { makeProofKey, prove } from './_proof.js'

const test = suite('a token that is revoked', { timeout: 15_000 })

const claims = { sub: 'ada', aud: resource, scope: 'use more' }
const headers = { authorization: 'Bearer opaque' }
const say = defineTool({ name: 'say', run: () => 'served' })

/** A server whose tokens are asked about again for whatever comes, and at every beat. */
async function start(
  t: TestContext,
  serve: (auth: AuthOptions) => ServerTransport,
  more: Partial<AuthOptions> = {},
) {
  const { issuer, auth } = await startIssuer(t, more)
  const definition = defineServer({ name: 'test', version: '1', tools: [say] })
  const server = await startServer(definition, { transport: serve(auth), logger: false })
  t.after(() => server.stop())
  return { issuer, server, url: String(server.url) }
}

async function startIssuer(t: TestContext, more: Partial<AuthOptions> = {}, cacheTime = 0) {
  const issuer = await startAuthorizationServer(t)
  issuer.opaque.set('opaque', claims)
  const [endpoint, client] = [`${issuer.issuer}/introspect`, { id: 'a', secret: 'b' }]
  const verify = introspection({ issuer: issuer.issuer, endpoint, client, cacheTime })
  const auth = { resource, authorizationServers: [issuer.issuer], scopes: ['use'], verify, ...more }
  return { issuer, auth }
}

function call({ socket }: RawSocket, id: string): void {
  socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'say' } }))
}

test('WebSocket: the next message is not served, and the socket closed with 1008', async (t) => {
  const { issuer, server } = await start(t, (auth) => serveWebSocket({ auth }))
  const raw = await open(t, server, { headers })
  await greet(raw)
  for (const id of ['a', 'b', 'c']) call(raw, id)
  for (const id of ['a', 'b', 'c'])
    assert.is((await raw.messages.next((it) => it.id === id)).result?.content?.[0]?.text, 'served')
  issuer.opaque.clear()
  let answers = 0
  raw.socket.on('message', () => {
    answers += 1
  })
  for (const id of ['d', 'e', 'f']) call(raw, id)
  assert.is(await raw.closed, 1008)
  assert.is(answers, 0)
})

test('WebSocket: messages wait for the answer about the token, and keep their order', async (t) => {
  const { issuer, server } = await start(t, (auth) => serveWebSocket({ auth }))
  const raw = await open(t, server, { headers })
  await greet(raw)
  const ids = Array.from({ length: 200 }, (_, number) => `n${number}`)
  const answered: unknown[] = []
  const all = new Promise<void>((resolve) => {
    raw.socket.on('message', (data: Buffer) => {
      answered.push(JSON.parse(data.toString()).id)
      if (answered.length === ids.length) resolve()
    })
  })
  const before = issuer.introspected.length
  for (const id of ids) raw.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }))
  await all
  assert.equal(answered, ids)
  assert.ok(issuer.introspected.length > before)
})

test('WebSocket: a socket without messages is closed at its next ping', async (t) => {
  const { issuer, server } = await start(t, (auth) => serveWebSocket({ auth, pingInterval: 1_000 }))
  const raw = await open(t, server, { headers })
  await greet(raw)
  issuer.opaque.clear()
  assert.is(await raw.closed, 1008)
})

test('WebSocket: a token that lost a scope counts as revoked', async (t) => {
  const { issuer, server } = await start(t, (auth) => serveWebSocket({ auth }))
  const raw = await open(t, server, { headers })
  await greet(raw)
  issuer.opaque.set('opaque', { ...claims, scope: 'use' })
  call(raw, 'late')
  assert.is(await raw.closed, 1008)
})

test('WebSocket: a message that nobody can vouch for is not served, and it is 1013', async (t) => {
  const { issuer, server } = await start(t, (auth) => serveWebSocket({ auth }))
  const raw = await open(t, server, { headers })
  await greet(raw)
  issuer.broken = true
  call(raw, 'late')
  assert.is(await raw.closed, 1013)
})

test('WebSocket: a token that is bound to a key needs no second proof', async (t) => {
  const { issuer, server } = await start(t, (auth) => serveWebSocket({ auth }), { dpop: true })
  const key = await makeProofKey()
  issuer.opaque.set('bound', { ...claims, cnf: { jkt: key.jkt } })
  const dpop = await prove(key, 'bound', { claims: { htm: 'GET' } })
  const raw = await open(t, server, { headers: { authorization: 'DPoP bound', dpop } })
  await greet(raw)
  call(raw, 'a')
  assert.is((await raw.messages.next(({ id }) => id === 'a')).result?.content?.[0]?.text, 'served')
  issuer.opaque.clear()
  call(raw, 'b')
  assert.is(await raw.closed, 1008)
})

const streams = { commentInterval: 50 }

test('HTTP: the stream of a session ends', async (t) => {
  const { issuer, url } = await start(t, (auth) => serveHttp({ auth, streams }))
  const client = new RawClient(t, url)
  client.own = headers
  await client.open()
  const stream = await client.listen()
  await enough(stream.comments)
  issuer.opaque.clear()
  await stream.ended
})

test('HTTP: a subscription of 2026-07-28 ends', async (t) => {
  const { issuer, url } = await start(t, (auth) => serveHttp({ auth, streams }))
  const client = new RawClient(t, url)
  const request = posted('subscriptions/listen', { notifications: { toolsListChanged: true } })
  client.own = { ...request.headers, ...headers }
  const stream = await client.stream(request.body)
  assert.is((await stream.next()).method, 'notifications/subscriptions/acknowledged')
  await enough(stream.comments)
  issuer.opaque.clear()
  await stream.ended
})

test('HTTP: streams stay while the authorization server does not answer', async (t) => {
  const { issuer, url } = await start(t, (auth) => serveHttp({ auth, streams }))
  const client = new RawClient(t, url)
  client.own = headers
  await client.open()
  const stream = await client.listen()
  issuer.broken = true
  const asked = issuer.asked.length
  await enough(() => issuer.asked.length - asked)
  issuer.broken = false
  await enough(stream.comments)
  stream.close()
})

test('HTTP+SSE: the stream ends', async (t) => {
  const { issuer, url } = await start(t, (auth) => serveSse({ auth, commentInterval: 50 }))
  const stream = await fetch(url, { headers, signal: t.signal })
  issuer.opaque.clear()
  assert.match(await stream.text(), /^event: endpoint/)
})

test('the answer about a token is never older than the verifier keeps it', async (t) => {
  const { issuer, auth: options } = await startIssuer(t, {}, 10_000)
  const time = { passed: 0 }
  const world: World = { ...systemWorld, now: () => time.passed }
  const { auth, authenticate } = readAuthenticate({ auth: options }, readListenerAuth)
  if (auth === undefined) throw new Error('there is auth')
  const settings = { auth, authenticate, timeouts: { authenticate: 5_000 } }
  const request = { headers, rawHeaders: [], socket: new Socket() } as never
  const peer = { transport: 'http', headers, remoteAddress: undefined }
  await identify({ peer, request }, settings, world)
  time.passed = 9_000
  const principal = await identify({ peer, request }, settings, world)
  if (principal === undefined) throw new Error('it is known')
  const watch = new TokenWatch({ request, peer, principal, settings, world, report: () => {} })
  assert.is(issuer.introspected.length, 1, 'as kept')
  time.passed = 9_999
  assert.is(watch.isFresh, true)
  time.passed = 10_000
  assert.is(watch.isFresh, false)
  assert.equal(await Promise.all([watch.ask(), watch.ask()]), ['good', 'good'])
  assert.equal([issuer.introspected.length, watch.isFresh], [2, true])
  issuer.opaque.clear()
  time.passed = 20_000
  assert.equal([watch.isFresh, await watch.ask()], [false, 'refused'])
})

/** Resolves once it has counted two more. */
async function enough(count: () => number): Promise<void> {
  const before = count()
  while (count() < before + 2) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('who comes by an authenticate that is asked again is looked at again', async () => {
  const time = { passed: 0 }
  const world: World = { ...systemWorld, now: () => time.passed }
  const people = new Map([['Bearer a', { issuer: 'urn:tokens', subject: 'ada', scopes: ['read', 'write'] }]])
  const find: Authenticate = (peer) => people.get(String(peer.headers.authorization))
  const settingsOf = (authenticate: Authenticate) => ({
    ...readAuthenticate({ authenticate }, readListenerAuth),
    timeouts: { authenticate: 5_000 },
  })
  assert.is(isWatched(settingsOf(find)), false)
  const settings = settingsOf(Object.assign(find, { again: true }))
  assert.is(isWatched(settings), true)
  const request = { headers: { authorization: 'Bearer a' }, rawHeaders: [], socket: new Socket() } as never
  const peer = { transport: 'http', headers: { authorization: 'Bearer a' }, remoteAddress: undefined }
  const principal = await identify({ peer, request }, settings, world)
  if (principal === undefined) throw new Error('it is known')
  const watch = new TokenWatch({ request, peer, principal, settings, world, report: () => {} })
  time.passed = 10_000
  assert.equal([watch.isFresh, await watch.ask(), watch.isFresh], [false, 'good', true])
  people.set('Bearer a', { issuer: 'urn:tokens', subject: 'ada', scopes: ['read'] })
  assert.is(await watch.ask(), 'refused')
  people.set('Bearer a', { issuer: 'urn:tokens', subject: 'bob', scopes: ['read', 'write'] })
  assert.is(await watch.ask(), 'refused')
  people.clear()
  assert.is(await watch.ask(), 'refused')
})

test.run()
