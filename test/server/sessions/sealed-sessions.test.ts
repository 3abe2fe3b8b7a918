import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { sealed, type ServerOptions } from 'caduceus/server'
import { SealedIds } from '../../../server/engine/sealed-ids.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('server with sealed ids')
const keys = ['a secret of the tests, and of nobody else']

/** A server as a program of its own would be: nothing but the key is shared. */
function startNode(t: TestContext, options: Partial<ServerOptions> = {}) {
  return startTestServer(t, [count], { engine: sealed({ keys }), ...options })
}

/** The same session, by way of another server. */
function elsewhere(t: TestContext, { sessionId }: RawClient, url: string | undefined): RawClient {
  const client = new RawClient(t, url)
  client.sessionId = sessionId
  return client
}

async function statusOf(client: RawClient): Promise<number> {
  return (await client.tell('notifications/initialized')).status
}

test('any server continues a sealed session with its revision and client facts', async (t) => {
  const [here, there] = [await startNode(t), await startNode(t)]
  const client = await new RawClient(t, here.url).open('wanderer')
  assert.is(await client.text('count'), '1')
  const same = elsewhere(t, client, there.url)
  assert.is(await same.text('count'), '1') // its values are kept in a store, not in the id
  const [session] = await there.sessions()
  assert.equal(
    [session?.id, session?.client, session?.revision, session?.capabilities, session?.phase],
    [client.sessionId, { name: 'wanderer', version: '1' }, '2025-11-25', { roots: {} }, 'ready'],
  )
  const stream = await same.listen()
  assert.is(stream.status, 200)
  stream.close()
})

test('a changed, foreign or malformed session id is 404', async (t) => {
  const server = await startNode(t)
  const client = await new RawClient(t, server.url).open()
  const id = String(client.sessionId)
  const foreign = new SealedIds({ keys: ['another secret of the very same tests'] })
  const facts = { revision: '2025-11-25', client: { name: 'x', version: '1' }, capabilities: {} }
  const ids = [
    `${id.slice(0, 30)}${id[30] === 'A' ? 'B' : 'A'}${id.slice(31)}`,
    `${id}=`,
    foreign.seal(facts, 'test').id,
    new SealedIds({ keys }).seal(facts, 'another server').id,
    'V1StGXR8_Z5jdHi6B-myT',
  ]
  for (const sessionId of ids) {
    client.sessionId = sessionId
    assert.is(await statusOf(client), 404, sessionId)
    assert.is((await client.listen()).status, 404)
    assert.is((await client.send('DELETE', undefined, client.headers())).status, 404)
  }
  client.sessionId = id
  assert.is(await client.text('count'), '1')
})

test.slow('a sealed session expires with its id, even while in use', async (t) => {
  let now = Date.now()
  const engine = sealed({ keys, maxAge: 1_000 })
  const clock = { ...systemWorld, date: () => now }
  const server = await startTestServer(t, [count], { engine, clock })
  const client = await new RawClient(t, server.url).open()
  const stream = await client.listen()
  assert.is(await client.text('count'), '1')
  await stream.ended
  now += 2_001
  assert.is(await statusOf(client), 404)
  assert.equal(await server.sessions(), [])
})

test('DELETE ends a sealed session in the program it was sent to', async (t) => {
  const server = await startNode(t)
  const client = await new RawClient(t, server.url).open()
  await client.text('count')
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is(await statusOf(client), 404)
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 404)
  const gone = new Promise((resolve) => server.registry.whereis('test/transport')?.onExit(resolve))
  server.registry.whereis('test/holdings')?.kill()
  await gone
  await server.registry.whenUp('test/transport')
  assert.is(await statusOf(elsewhere(t, client, server.url)), 404)
})

test('two DELETEs at once end a sealed session', async (t) => {
  const server = await startNode(t)
  const client = await new RawClient(t, server.url).open()
  const end = async () => (await client.send('DELETE', undefined, client.headers())).status
  const statuses = await Promise.all([end(), end(), end()])
  assert.ok(statuses.includes(204) && statuses.every((status) => status === 204 || status === 404))
  assert.is(await statusOf(client), 404)
})

test('DELETE ends a sealed session that this program has never seen', async (t) => {
  const [here, there] = [await startNode(t), await startNode(t)]
  const unknown = elsewhere(t, await new RawClient(t, there.url).open(), here.url)
  assert.is((await unknown.send('DELETE', undefined, unknown.headers())).status, 204)
  assert.is(await statusOf(unknown), 404)
})

test('the third crash within five seconds ends a sealed session as well', async (t) => {
  const server = await startNode(t)
  const client = await new RawClient(t, server.url).open()
  for (const expected of ['1', '2', '3']) {
    assert.is(await client.text('count'), expected)
    server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
  }
  assert.is(await statusOf(client), 404)
})

test('an idle sealed session is restored by its id', async (t) => {
  const server = await startNode(t, { timeouts: { idle: 30 } })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const name = `test/session ${client.sessionId}`
  const session = server.registry.whereis(name)
  if (session !== undefined) await new Promise((resolve) => session.onExit(resolve))
  assert.match(await client.text('count'), /^[12]$/)
})

test.run()
