import * as assert from 'uvu/assert'
import { defineServer, defineTool, type SessionRecord, type SessionStore } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo } from '../_servers.js'
import { everything, form } from '../context/_asking.js'
import { memorySessions } from '../engine/_file-store.js'
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

const three = [definition, definition, definition]

test('a node looks an owner up once, and again after a move', async (t) => {
  const { nodes } = await startNodes(t, three)
  const [first, second, third] = nodes as [TestNode, TestNode, TestNode]
  const clients = await startClients(t, nodes)
  const asked = { claims: 0, loads: 0 }
  const { cluster } = second
  const { claim, sessions: store } = cluster
  const { load } = store
  cluster.claim = (...args) => {
    asked.claims += 1
    return claim.apply(cluster, args)
  }
  store.load = (id) => {
    asked.loads += 1
    return load(id)
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

test('a session claimed right before its node retires is handed over, too', async (t) => {
  const memory = memorySessions()
  const loads = heard<() => void>()
  let isHeld = false
  const store: SessionStore = {
    load: async (id) => {
      if (isHeld) await new Promise<void>((resolve) => loads.add(resolve))
      return memory.load(id)
    },
    save: (record) => memory.save(record),
    delete: (id) => memory.delete(id),
  }
  const { nodes, hub } = await startNodes(t, three, {}, { store })
  const [first] = nodes as [TestNode]
  const [client] = await startClients(t, nodes)
  await first.retire()
  await hub.call('join', { name: first.name, ref: first.ref as never })
  isHeld = true
  const counted = client.text('count')
  // of the record: may this client have it, is it there, and once more when it is claimed
  for (const _ of [1, 2]) (await loads.next())()
  const afterClaim = await loads.next()
  isHeld = false
  let isRetired = false
  const retired = first.retire().then(() => (isRetired = true))
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.not(isRetired)
  afterClaim()
  assert.is(await counted, '1')
  await retired
  assert.is((await first.server.sessions()).length, 0)
  assert.is(await client.text('count'), '2')
})

test('calls go on all the time while sessions move from node to node', async (t) => {
  const { nodes, hub } = await startNodes(t, three)
  const all = await Promise.all(Array.from({ length: 8 }, () => startClients(t, nodes)))
  let on = true
  const made = all.map(async (clients) => {
    let calls = 0
    while (on) {
      calls += 1
      const client = clients[calls % 3] as RawClient
      assert.is(await client.text('count'), String(calls))
    }
    return calls
  })
  for (const node of [...nodes, ...nodes]) {
    await node.retire()
    // it serves again
    await hub.call('join', { name: node.name, ref: node.ref as never })
  }
  on = false
  assert.ok((await Promise.all(made)).every((calls) => calls > 0))
})

test('a started save completes before another node continues the session', async (t) => {
  const inner = memorySessions()
  let gate: (() => void) | undefined
  const held = signal()
  const store: SessionStore = {
    load: (id) => inner.load(id),
    delete: (id) => inner.delete(id),
    async save(record) {
      if (Object.keys(record.state).length > 0 && gate === undefined) {
        await new Promise<void>((resolve) => {
          gate = resolve
          held.fire()
        })
      }
      inner.save(record)
    },
  }
  const { nodes } = await startNodes(t, three, {}, { store })
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

test('a node that lost a session does not save it', async (t) => {
  const { nodes, hub } = await startNodes(t, three)
  const [client] = await startClients(t, nodes)
  await client.text('count')
  const record = await hub.call('load', String(client.sessionId))
  const save = (node: string) => hub.call('save', { node, record: record as SessionRecord })
  await save('node 1')
  const error = await save('node 2').catch((reason: Error) => reason)
  assert.match(String((error as Error).message), /another node/)
})

test('an ending node receives answers to its open questions', async (t) => {
  const { nodes, hub } = await startNodes(t, three)
  const [first, second] = await startClients(t, nodes)
  const asking = await second.stream(callOf('asks'))
  const question = await asking.next()
  await hub.call('close', 'node 2')
  await first.post({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } })
  assert.is((await asking.next()).id, 7)
})

test('a session cannot be claimed for a node that has ended', async (t) => {
  const { nodes, hub } = await startNodes(t, three)
  nodes[0]?.ref.kill()
  await until(async () => hub.call('claim', { node: 'node 2', id: 'a', who: undefined }).then(() => true))
  const late = hub.call('claim', { node: 'node 1', id: 'b', who: undefined })
  await rejects(() => late, /node 1 has ended/)
})

test('a failed delete does not keep a session from other nodes', async (t) => {
  const memory = memorySessions()
  let fails = false
  const store: SessionStore = {
    load: (id) => memory.load(id),
    save: (record) => memory.save(record),
    delete(id) {
      if (fails) throw new Error('the store is away')
      return memory.delete(id)
    },
  }
  const { nodes } = await startNodes(t, three, {}, { store })
  const [first, second] = nodes as [TestNode, TestNode]
  const [client, other] = await startClients(t, nodes)
  first.ref.kill()
  fails = true
  await until(async () => (await other.send('DELETE', undefined, other.headers())).status === 500)
  await second.retire()
  fails = false
  assert.ok(client.sessionId)
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

function callOf(
  name: string,
  id: number | string = 7,
): { jsonrpc: string; id: number | string; method: string; params: object } {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }
}

async function rejects(fn: () => Promise<unknown>, words: RegExp): Promise<void> {
  const error = await fn().then(
    () => new Error('it did not reject'),
    (reason: Error) => reason,
  )
  assert.match(error.message, words)
}

test.run()
