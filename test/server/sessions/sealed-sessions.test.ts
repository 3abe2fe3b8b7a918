import * as assert from 'uvu/assert'
import { createFileStore, type SealedIds, sealedIds, type SessionStore } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { makeFolder } from '../engine/_file-store.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('server with sealed ids')
const keys = ['a secret of the tests, and of nobody else']

/** A server as a program of its own would be: nothing but the key, and the store if there is one, is shared. */
function startNode(t: TestContext, store?: SessionStore, sessionIds: SealedIds = sealedIds({ keys })) {
  return startTestServer(t, [count], { sessionIds, ...(store !== undefined && { store }) })
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
  const foreign = sealedIds({ keys: ['another secret of the very same tests'] })
  const facts = { revision: '2025-11-25', client: { name: 'x', version: '1' }, capabilities: {} }
  const ids = [
    `${id.slice(0, 30)}${id[30] === 'A' ? 'B' : 'A'}${id.slice(31)}`,
    `${id}=`,
    foreign.seal(facts, 'test').id,
    sealedIds({ keys }).seal(facts, 'another server').id,
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

test('a sealed session expires with its id, even while in use', async (t) => {
  let now = Date.now()
  const sessionIds = sealedIds({ keys, maxAge: 1_000, now: () => now })
  const server = await startNode(t, undefined, sessionIds)
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

test('DELETE is stored, also for a session never saved', async (t) => {
  const folder = makeFolder(t)
  const here = await startNode(t, createFileStore({ folder }))
  const other = await startNode(t)
  const client = await new RawClient(t, here.url).open()
  const unknown = elsewhere(t, await new RawClient(t, other.url).open(), here.url)
  for (const one of [client, unknown])
    assert.is((await one.send('DELETE', undefined, one.headers())).status, 204)
  const there = await startNode(t, createFileStore({ folder }))
  for (const one of [client, unknown]) assert.is(await statusOf(elsewhere(t, one, there.url)), 404)
})

test('two DELETEs at once end a session for every program', async (t) => {
  const folder = makeFolder(t)
  const here = await startNode(t, createFileStore({ folder }))
  const client = await new RawClient(t, here.url).open()
  const end = async () => (await client.send('DELETE', undefined, client.headers())).status
  const statuses = await Promise.all([end(), end(), end()])
  assert.ok(statuses.includes(204) && statuses.every((status) => status === 204 || status === 404))
  const there = await startNode(t, createFileStore({ folder }))
  assert.is(await statusOf(elsewhere(t, client, there.url)), 404)
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

test('an idle session is restored with values from the store', async (t) => {
  const store = createFileStore({ folder: makeFolder(t) })
  const sessionIds = sealedIds({ keys })
  const server = await startTestServer(t, [count], { store, sessionIds, idleTimeout: 30 })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const name = `test/session ${client.sessionId}`
  const idle = new Promise((resolve) => server.registry.whereis(name)?.onExit(resolve))
  await idle
  assert.is(await client.text('count'), '2')
})

test('servers that share a store alternate in a session by message', async (t) => {
  const folder = makeFolder(t)
  const nodes = await Promise.all(
    [0, 1, 2].map(() => startNode(t, createFileStore({ folder, shared: true }))),
  )
  const client = await new RawClient(t, nodes[0]?.url).open()
  const turns = nodes.map((node) => elsewhere(t, client, node.url))
  const seen: string[] = []
  for (let round = 0; round < 3; round++) for (const turn of turns) seen.push(await turn.text('count'))
  assert.equal(seen, ['1', '2', '3', '4', '5', '6', '7', '8', '9'])
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  for (const turn of turns) assert.is(await statusOf(turn), 404)
  for (const node of nodes) assert.equal(await node.sessions(), [])
})

test('a wrong sealedIds is refused by name', async (t) => {
  for (const sessionIds of ['sealed', { keys }, () => 'id', null]) {
    const starting = startTestServer(t, [count], { sessionIds: sessionIds as unknown as SealedIds })
    const error = await starting.then(
      () => undefined,
      (reason: { code: string; data: { field: string } }) => reason,
    )
    assert.equal([error?.code, error?.data.field], ['BAD_OPTION', 'sessionIds'])
  }
})

test.run()
