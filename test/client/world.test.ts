import * as assert from 'uvu/assert'
import {
  type Client,
  clientSpec,
  memoryAuthStorage,
  oauth,
  startClient,
  type StartClientOptions,
  startClientPool,
  startClients,
  subscribeClient,
} from 'caduceus/client'
import { createFakeClock, type ProcessRef, startSupervisor, systemWorld } from 'caduceus/runtime'
import { defineServer, startServer } from 'caduceus/server'
import { http, memory } from 'caduceus/transports'
import { processOf } from '../../runtime/process/ref.js'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { drawn, drawnWorld } from '../support/world.js'
import { listen, status } from '../transports/_http.js'
import { quickSignIn, startGuarded, startOAuthServer } from './auth/_oauth.js'
import { own, usePeer } from './share/_share.js'
import { rejection, watch } from './_raw.js'

const test = suite('the world of a client')
const backoff = { base: 1_000, cap: 30_000, awaitedCap: 30_000 }

function worldIn(ref: ProcessRef | undefined): unknown {
  return ref === undefined ? undefined : processOf(ref).tree.world
}

/** The pause after the first failure: that of a client that finds no server. */
async function firstPause(client: Client): Promise<number | undefined> {
  const states = heard<number | undefined>()
  const undo = client.onState(({ phase, delay }) => {
    if (phase === 'disconnected' && delay !== undefined) states.add(delay)
  })
  if (client.state.delay !== undefined) states.add(client.state.delay)
  const delay = await states.next(() => true)
  undo()
  return delay
}

function start(t: TestContext, options: Partial<StartClientOptions> = {}): Client {
  const client = startClient({ transport: memory().connect, logger: false, backoff, ...options })
  t.after(() => client.close())
  return client
}

test('backoff and waits for a failed client use the world of the client', async (t) => {
  const world = drawnWorld()
  const client = start(t, { clock: world })
  assert.is(await firstPause(client), 250)
  assert.is(worldIn(client.ref), world)
  assert.is(await firstPause(start(t, { clock: world, backoff: { ...backoff, random: () => 1 } })), 1_000)
})

test('clients in a tree, a fleet and a pool share the world of the tree', async (t) => {
  const world = drawnWorld()
  const transport = memory().connect
  const supervisor = await startSupervisor({ clock: world, logger: false, strategy: 'one_for_one' })
  t.after(() => supervisor.stop())
  const child = await supervisor.startChild(clientSpec({ transport, backoff }))
  assert.is(await firstPause((child as { readonly extra: Client }).extra), 250)

  const clients = await startClients(
    { a: { transport } },
    { clock: world, logger: false, client: { backoff } },
  )
  t.after(() => clients.close())
  assert.is(worldIn(clients.ref), world)
  assert.is(await firstPause(clients.get('a')), 250)

  const pool = await startClientPool({
    transport,
    clock: world,
    logger: false,
    size: 1,
    min: 0,
    strategy: 'random',
    client: { backoff },
  })
  t.after(() => pool.close())
  assert.is(worldIn(pool.ref), world)
  const [member] = pool.members()
  assert.is(member?.state?.delay ?? 250, 250)
})

test('a pool picks random members with its world', async (t) => {
  const world = drawnWorld()
  const { serve, connect } = memory()
  const definition = defineServer({ name: 'test', version: '1', tools: [] })
  const server = await startServer(definition, { transport: serve, logger: false })
  t.after(() => server.stop())
  const pool = await startClientPool({
    transport: connect,
    clock: world,
    logger: false,
    size: 4,
    strategy: 'random',
  })
  t.after(() => pool.close())
  const before = world.asked.random
  for (let call = 0; call < 5; call++) await pool.listTools()
  assert.is(world.asked.random - before, 5)
  const served = pool.members().map((member) => member.served)
  assert.is(Math.max(...served), 5)
})

test('durations of calls use the clock of the world', async (t) => {
  let ahead = 0
  const world = { ...drawnWorld(), now: () => systemWorld.now() + ahead }
  const durations = heard<number>()
  const undo = subscribeClient('request', ({ client, duration }) => {
    if (client === 'timed' && duration !== undefined) durations.add(duration)
  })
  t.after(undo)
  const { client } = watch(t, { name: 'timed', clock: world })
  const call = client.callTool('count', {}, { timeout: 3_600_000 })
  ahead += 1_800_000
  await call
  const duration = await durations.next(() => true)
  assert.ok(duration >= 1_800_000, `${duration} ms`)
})

test('a Retry-After date is compared with the date of the world', async (t) => {
  const at = new Date(drawn.date + 20_000).toUTCString()
  const server = await listen(t, (seen) => status(seen, 503, { 'retry-after': at }))
  const client = start(t, { transport: http(server.url), clock: drawnWorld() })
  assert.is(await firstPause(client), 20_250)
})

test('a share takes session names from its world', async (t) => {
  const world = drawnWorld()
  const { share, path } = await own(t, { clock: world })
  assert.is(worldIn(share.ref), world)
  const before = world.asked.id
  assert.is((await usePeer(t, path).client.callTool('count')).text, '1')
  assert.ok(world.asked.id > before)
})

test('tokens expire by the date of the world', async (t) => {
  const world = drawnWorld()
  const issuer = await startOAuthServer(t)
  issuer.expiresIn = 3_600
  const server = await startGuarded(t, issuer)
  const storage = memoryAuthStorage()
  const auth = oauth({ signIn: quickSignIn(), storage })
  t.after(() => auth.close())
  const client = start(t, { transport: http(server.url, { auth }), clock: world })
  await client.ready()
  const tokens = await storage.read(`tokens ${issuer.issuer} ${server.url}`)
  assert.is(tokens?.expiresAt, drawn.date + 3_600_000)
  const asked = issuer.asked.length
  await client.callTool('in')
  const next = oauth({ storage })
  t.after(() => next.close())
  const request = { url: new URL(server.url), signal: t.signal, world }
  assert.equal(await next.authorize(request), { authorization: `Bearer ${String(tokens?.accessToken)}` })
  // what is known is told at once
  assert.not.instance(next.authorize(request), Promise)
  assert.is(issuer.asked.length, asked)
})

test('a sign-in times out by the clock of the world', async (t) => {
  const clock = createFakeClock()
  const issuer = await startOAuthServer(t)
  const server = await startGuarded(t, issuer)
  const begun = heard<URL>()
  const signIn = {
    begin: async () => ({
      redirectUri: 'http://127.0.0.1:3000/callback',
      authorize(url: URL) {
        begun.add(url)
        return new Promise<never>(() => {})
      },
    }),
  }
  const auth = oauth({ signIn, signInTimeout: 3_600_000 })
  t.after(() => auth.close())
  const client = start(t, { transport: http(server.url, { auth }), clock, handshakeTimeout: 7_200_000 })
  const refused = rejection(client.ready({ timeout: 7_200_000 }))
  await begun.next(() => true)
  await clock.advance(3_600_000)
  assert.match(String((await refused).message), /no tokens came within 3600000 ms/)
})

test.run()
