import * as assert from 'uvu/assert'
import {
  defineResource,
  defineServer,
  defineTool,
  records,
  sealed,
  type SessionRecord,
  type SessionStore,
} from 'caduceus/server'
import { crash, until } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo, untilBack } from '../_servers.js'
import { everything, form } from '../context/_asking.js'
import { startNodes, type TestNode } from './_nodes.js'

const test = suite('server nodes')

const asks = defineTool({
  name: 'asks',
  run: async (_args, ctx) => JSON.stringify((await ctx.elicit('who', form)).content),
})
const definition = defineServer({
  name: 'test',
  version: '1',
  tools: [count, echo, asks],
})

/** A client of each node in the same session, which runs on the first. */
async function startClients(t: TestContext, nodes: readonly TestNode[]) {
  const clients = nodes.map(({ url }) => new RawClient(t, url))
  const [first] = clients as [RawClient]
  await first.open('raw', '2025-11-25', everything)
  for (const client of clients) client.sessionId = first.sessionId
  return clients as [RawClient, RawClient, RawClient]
}

type Listener = Parameters<TestNode['cluster']['listen']>[0]

const three = [definition, definition, definition]

test('a node looks an owner up once, and again after a move', async (t) => {
  const { nodes } = await startNodes(t, three)
  const [first, second, third] = nodes as [TestNode, TestNode, TestNode]
  const clients = await startClients(t, nodes)
  const asked = { claims: 0, loads: 0 }
  const { cluster } = second
  const { claim, sessions } = cluster
  const { load } = sessions
  cluster.claim = (...args) => {
    asked.claims += 1
    return claim.apply(cluster, args)
  }
  sessions.load = (id) => {
    asked.loads += 1
    return load.call(sessions, id)
  }
  await clients[1].text('count')
  assert.is(asked.claims, 1)
  const { loads } = asked
  for (let calls = 2; calls <= 5; calls += 1) assert.is(await clients[1].text('count'), String(calls))
  assert.equal(asked, { claims: 1, loads })
  await first.retire()
  // it may be the second's from now on
  assert.is(await clients[1].text('count'), '6')
  assert.is(await clients[2].text('count'), '7')
  assert.is(await clients[1].text('count'), '8')
  const running = await Promise.all([second, third].map(({ server }) => server.sessions()))
  assert.is(running.flat().length, 1)
})

test('a started save completes before another node continues the session', async (t) => {
  const inner = new Map<string, SessionRecord>()
  let gate: (() => void) | undefined
  const held = signal()
  const store: SessionStore = {
    load: (id) => inner.get(id),
    delete: (id) => inner.delete(id),
    async save(record) {
      if (Object.keys(record.state).length > 0 && gate === undefined) {
        await new Promise<void>((resolve) => {
          gate = resolve
          held.fire()
        })
      }
      inner.set(record.id, record)
    },
  }
  const { nodes } = await startNodes(t, three, {}, records(store))
  const [first, second] = await startClients(t, nodes)
  const lost = first.call('count').catch(() => 'lost')
  await held.fired
  nodes[0]?.ref.kill()
  const next = second.text('count')
  // it is asked for, and waits
  await new RawClient(t, nodes[1]?.url).open()
  gate?.()
  assert.is(await next, '2')
  await lost
})

test('a failed delete does not keep a session from other nodes', async (t) => {
  const memory = new Map<string, SessionRecord>()
  let fails = false
  const store: SessionStore = {
    load: (id) => memory.get(id),
    save: (record) => memory.set(record.id, record),
    delete(id) {
      if (fails) throw new Error('the store is away')
      return memory.delete(id)
    },
  }
  const { nodes } = await startNodes(t, three, {}, records(store))
  const [first, second] = nodes as [TestNode, TestNode]
  const [client, other] = await startClients(t, nodes)
  first.ref.kill()
  fails = true
  await until(async () => (await other.send('DELETE', undefined, other.headers())).status === 503)
  await second.retire()
  fails = false
  assert.ok(client.sessionId)
})

test('a sealed session that was ended on one node is unknown on all', async (t) => {
  const engine = sealed({ keys: ['a secret of thirty-two characters'] })
  const { nodes } = await startNodes(t, three, {}, engine)
  const [first, second, third] = await startClients(t, nodes)
  assert.equal([await first.text('count'), await second.text('count')], ['1', '2'])
  assert.is((await second.send('DELETE', undefined, second.headers())).status, 204)
  const statuses: number[] = []
  for (const client of [first, second, third])
    statuses.push((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status)
  assert.equal(statuses, [404, 404, 404])
})

test('a restarted listener leaves no readers on other nodes', async (t) => {
  const { nodes } = await startNodes(t, three)
  const [first, second] = nodes as [TestNode, TestNode]
  const [, client] = await startClients(t, nodes)
  const readers = async (): Promise<unknown> => (await first.server.sessions())[0]?.readers
  const stream = await client.listen()
  assert.is(await readers(), 1)
  second.server.registry.whereis('node 2/transport')?.kill()
  await stream.ended
  await until(async () => (await readers()) === 0)
})

function signal(): { fire(): void; readonly fired: Promise<void> } {
  let fire = (): void => {}
  const fired = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { fire: () => fire(), fired }
}

function _callOf(
  name: string,
  id: number | string = 7,
): { jsonrpc: string; id: number | string; method: string; params: object } {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }
}

async function _rejects(fn: () => Promise<unknown>, words: RegExp): Promise<void> {
  const error = await fn().then(
    () => new Error('it did not reject'),
    (reason: Error) => reason,
  )
  assert.match(error.message, words)
}

test('news that comes while the group restarts reaches sessions that hibernate', async (t) => {
  const note = defineResource({ uri: 'a:b', name: 'b', read: () => 'b' })
  const noted = defineServer({ name: 'test', version: '1', resources: [note] })
  const { nodes } = await startNodes(t, [noted, noted], { timeouts: { hibernateAfter: 20 } })
  const [first, second] = nodes as [TestNode, TestNode]
  const client = await new RawClient(t, first.url).open()
  await client.ask('resources/subscribe', { uri: 'a:b' })
  await until(async () => (await first.server.sessions()).some(({ ref }) => ref === undefined))
  // as between two groups: the news is read, and no base hears it
  const read = signal()
  first.cluster.listen({ hear: () => read.fire() } as unknown as Listener)
  await second.server.resourceUpdated('a:b')
  await read.fired
  await untilBack(() => crash(first.server, { part: 'base' }))
  const stream = await client.listen()
  const told = [await stream.next(), await stream.next()].map(({ method }) => method)
  assert.ok(told.includes('notifications/resources/updated'))
  stream.close()
})

test('a node that retires lets go of sessions that hibernate, and another one goes on', async (t) => {
  const { nodes } = await startNodes(t, three, { timeouts: { hibernateAfter: 20 } })
  const [first] = nodes as [TestNode]
  const asleep = until('server.session', ({ type }) => type === 'hibernated')
  const clients = await startClients(t, nodes)
  assert.is(await clients[1].text('count'), '1')
  await asleep
  await until(async () => (await first.server.sessions()).some(({ ref }) => ref === undefined))
  // its messages still come to this node
  assert.is(await clients[1].text('count'), '2')
  await until(async () => (await first.server.sessions()).some(({ ref }) => ref === undefined))
  await first.retire()
  assert.equal(await first.server.sessions(), [])
  assert.is(await clients[2].text('count'), '3')
})

test.run()
