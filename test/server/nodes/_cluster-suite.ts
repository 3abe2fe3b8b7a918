import { equal, is, match, ok } from 'uvu/assert'
import { defineResource, defineServer, defineTool, type Server, type ServerDefinition } from 'caduceus/server'
import { until } from 'caduceus/testing'
import type { Cluster } from '../../../server/cluster/cluster.js'
import type { TestContext, TestOptions } from '../../support/suite.js'
import { RawClient, type Wire } from '../_client.js'
import { count, echo } from '../_servers.js'
import { everything, form } from '../context/_asking.js'
import { eventually } from './_servers.js'

/** A node under test: a whole server, on a port of its own. */
export interface SuiteNode {
  readonly url: string
  readonly server: Server
  readonly cluster: Cluster
  /** Lets its sessions go. */
  retire(): Promise<void>
  /** It ends at once, as a program that is killed. */
  kill(): void
}

export interface SuiteLimits {
  readonly sessions?: number
  readonly sessionsPerClient?: number
}

type Define = (promise: string, body: (t: TestContext) => unknown, options?: TestOptions) => void
type Three<T> = readonly [T, T, T]

const asks = defineTool({
  name: 'asks',
  run: async (_args, ctx) => JSON.stringify((await ctx.elicit('who', form)).content),
})
const works = defineTool({
  name: 'works',
  async run(_args, ctx) {
    ctx.progress(1, 2, 'half')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  },
})
const touches = defineTool({
  name: 'touches',
  async run(_args, ctx) {
    await ctx.resourceUpdated('file:///a')
    await ctx.listChanged('tools')
    return 'done'
  },
})

/** What the servers of the nodes offer. */
export const clusterDefinition: ServerDefinition = defineServer({
  name: 'test',
  version: '1',
  tools: [count, echo, asks, works, touches],
  resources: [defineResource({ uri: 'file:///a', name: 'a', read: () => 'a' })],
  logging: true,
})

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const decline = { action: 'decline' }

/** What every cluster keeps to; `start` starts three nodes of `clusterDefinition`. */
export function clusterSuite(
  test: Define,
  start: (t: TestContext, limits: SuiteLimits) => Promise<readonly SuiteNode[]>,
): void {
  const begin = async (t: TestContext, limits: SuiteLimits = {}): Promise<Three<SuiteNode>> =>
    (await start(t, limits)) as unknown as Three<SuiteNode>

  /** A client of each node in the same session, which runs on the first. */
  const beginSession = async (t: TestContext) => {
    const nodes = await begin(t)
    return { nodes, clients: await openSession(t, nodes) }
  }

  test('a request is served where its session runs', async (t) => {
    const { nodes, clients } = await beginSession(t)
    for (const client of [...clients, ...clients]) await client.text('count')
    is(await clients[1].text('count'), '7')
    const running = await Promise.all(nodes.map(({ server }) => server.sessions()))
    equal(
      running.map((sessions) => sessions.length),
      [1, 0, 0],
    )
  })

  test('an ended session is unknown on every node', async (t) => {
    const { clients } = await beginSession(t)
    for (const client of [...clients, ...clients]) await client.text('count')
    is((await clients[2].send('DELETE', undefined, clients[2].headers())).status, 204)
    for (const client of clients) is((await client.post(ping)).status, 404)
  })

  test('a session never opened is unknown on every node', async (t) => {
    const { clients } = await beginSession(t)
    for (const client of clients) {
      client.sessionId = 'nobody-has-opened-it'
      is((await client.post(ping)).status, 404)
    }
  })

  test('initialized is accepted on another node than initialize', async (t) => {
    const [first, second] = await begin(t)
    const client = new RawClient(t, first.url)
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: everything,
      clientInfo: { name: 'raw', version: '1' },
    }
    const { headers } = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const other = new RawClient(t, second.url)
    other.sessionId = String(headers['mcp-session-id'])
    is((await other.tell('notifications/initialized')).status, 202)
    const stream = await other.stream(callOf('asks'))
    const question = await stream.next()
    is(question.method, 'elicitation/create')
    await other.post(answerOf(question, { action: 'accept', content: { name: 'Ada' } }))
    is((await stream.next()).result?.content?.[0]?.text, '{"name":"Ada"}')
  })

  test('progress, questions, answers and cancellations pass through any node', async (t) => {
    const { clients } = await beginSession(t)
    const [, second, third] = clients
    const asking = await second.stream(callOf('asks'))
    await third.post(answerOf(await asking.next(), { action: 'accept', content: { name: 'Bob' } }))
    is((await asking.next()).result?.content?.[0]?.text, '{"name":"Bob"}')
    const working = await third.stream(withProgress('works', 8))
    const { method, params } = await working.next()
    equal([method, params?.progressToken, params?.message], ['notifications/progress', 5, 'half'])
    await second.tell('notifications/cancelled', { requestId: 8 })
    await working.ended
  })

  test('changes reach clients on all nodes', async (t) => {
    const { nodes, clients } = await beginSession(t)
    const [first, second, third] = clients
    await first.ask('resources/subscribe', { uri: 'file:///a' })
    const listening = await third.listen()
    const stranger = await new RawClient(t, nodes[2].url).open()
    const told = await stranger.listen()
    await second.text('touches')
    const methods = [(await listening.next()).method, (await listening.next()).method].sort()
    equal(methods, ['notifications/resources/updated', 'notifications/tools/list_changed'])
    is((await told.next()).method, 'notifications/tools/list_changed')
    listening.close()
    told.close()
  })

  test('the end of a session ends the streams of its readers on all nodes', async (t) => {
    const { clients } = await beginSession(t)
    const streams = await Promise.all(clients.map((client) => client.listen()))
    await clients[1].send('DELETE', undefined, clients[1].headers())
    for (const stream of streams) await stream.ended
  })

  for (const how of ['is killed', 'retires'] as const)
    test(`the GET streams of other nodes stay when the node of their session ${how}`, async (t) => {
      const { nodes, clients } = await beginSession(t)
      const [first, second, third] = clients
      await first.ask('resources/subscribe', { uri: 'file:///a' })
      const streams = await Promise.all([second, third].map((client) => client.listen()))
      const ended = streams.map((stream) => stream.ended.then(() => 'ended'))
      const told = streams.map((stream) => stream.next())
      for (const each of told) each.catch(() => {})
      if (how === 'is killed') nodes[0].kill()
      else await nodes[0].retire()
      // what may have been missed is told to one of them, by the node that goes on with the session
      const { method } = (await Promise.race([...told, ...ended])) as Wire
      match(method ?? '', /^notifications\/(tools|resources|prompts)\/(list_changed|updated)$/)
      is(await third.text('count'), '1')
      await eventually(async () => {
        const running = await Promise.all(nodes.map(({ server }) => server.sessions().catch(() => [])))
        return running.flat().find(({ id }) => id === first.sessionId)?.readers === 2
      })
      // and they end with the session
      await third.send('DELETE', undefined, third.headers())
      await Promise.all(ended)
    })

  test('DELETE on any node ends a session for all', async (t) => {
    const { clients } = await beginSession(t)
    is((await clients[2].send('DELETE', undefined, clients[2].headers())).status, 204)
    for (const client of clients) is((await client.post(ping)).status, 404)
  })

  test('a batch is served where its session runs', async (t) => {
    const [first, second] = await begin(t)
    const client = await new RawClient(t, first.url).open('raw', '2025-03-26')
    const other = new RawClient(t, second.url)
    other.sessionId = client.sessionId
    other.revision = '2025-03-26'
    const answer = await other.post([callOf('count', 1), { jsonrpc: '2.0', id: 2 }, callOf('count', 3)])
    is(answer.status, 200)
    // in any order (JSON-RPC 2.0, section 6)
    equal(answer.messages.map(({ id, error }) => `${id} ${error?.code}`).sort(), [
      '1 undefined',
      '3 undefined',
      'undefined -32600',
    ])
  })

  test('a node that ends fails its calls, and its sessions move to others', async (t) => {
    const { nodes, clients } = await beginSession(t)
    const [, second, third] = clients
    await second.text('count')
    const working = await third.stream(withProgress('works'))
    await working.next()
    nodes[0].kill()
    const { error } = await working.next()
    is(error?.code, -32603)
    equal(error?.data, { retryable: true })
    const texts = await Promise.all([second, third, second, third].map((client) => client.text('count')))
    equal(texts.sort(), ['2', '3', '4', '5'])
  })

  test('a node that asked a dead node finds the session elsewhere', async (t) => {
    const { nodes, clients } = await beginSession(t)
    for (let calls = 1; calls <= 2; calls += 1) is(await clients[1].text('count'), String(calls))
    nodes[0].kill()
    is(await clients[1].text('count'), '3')
    is(await clients[2].text('count'), '4')
  })

  test('a retiring node hands its sessions over and loses nothing', async (t) => {
    const { nodes, clients } = await beginSession(t)
    const [first] = nodes
    const asking = await clients[0].stream(callOf('asks', 99))
    const question = await asking.next()
    const retired = first.retire()
    // it goes when it is idle: the call is finished where it runs
    for (const client of clients) await client.text('count')
    is((await first.server.sessions()).length, 1)
    await clients[1].post(answerOf(question, decline))
    is((await asking.next()).id, 99)
    await retired
    is((await first.server.sessions()).length, 0)
    for (const client of clients) await client.text('count')
    is(await clients[0].text('count'), '7')
    const opened = await new RawClient(t, first.url).open()
    await opened.text('echo', { text: 'hi' })
    is((await first.server.sessions()).length, 0)
  })

  test('calls go on all the time while sessions move from node to node', async (t) => {
    const nodes = await begin(t)
    const all = await Promise.all(Array.from({ length: 8 }, () => openSession(t, nodes)))
    let on = true
    const made = all.map(async (clients) => {
      let calls = 0
      while (on) {
        calls += 1
        is(await clients[calls % 3]?.text('count'), String(calls))
      }
      return calls
    })
    for (const node of nodes.slice(0, 2)) await node.retire()
    on = false
    ok((await Promise.all(made)).every((calls) => calls > 0))
    equal((await nodes[2].server.sessions()).length, 8)
  })

  test('a node that handed all over asks others for their sessions', async (t) => {
    const { nodes, clients } = await beginSession(t)
    await nodes[0].retire()
    for (let calls = 1; calls <= 3; calls += 1) is(await clients[0].text('count'), String(calls))
    const asking = await clients[0].stream(callOf('asks'))
    await clients[0].post(answerOf(await asking.next(), decline))
    is((await asking.next()).id, 7)
  })

  test('a node that lost a session does not save it', async (t) => {
    const { nodes, clients } = await beginSession(t)
    await clients[0].text('count')
    const id = String(clients[0].sessionId)
    const record = await nodes[1].cluster.sessions.load(id)
    if (record === undefined) throw new Error('no record')
    await nodes[0].cluster.sessions.save({ ...record, version: record.version + 1 })
    const saved = Promise.resolve(nodes[1].cluster.sessions.save({ ...record, version: record.version + 2 }))
    match(String(await saved.catch(String)), /is for another/)
    is((await nodes[2].cluster.sessions.load(id))?.version, record.version + 1)
  })

  test('a session belongs to one node until it is released', async (t) => {
    const [first, second, third] = await begin(t)
    const [one, two, three] = [first.cluster, second.cluster, third.cluster]
    const owners = await Promise.all([one, two, three].map((cluster) => cluster.claim('a', undefined)))
    const [owner] = owners
    ok([one, two, three].some(({ node }) => node === owner))
    equal(owners, [owner, owner, owner])
    for (const cluster of [one, two, three]) if (cluster.node !== owner) cluster.release('a')
    is(await three.claim('a', undefined), owner)
    const other = owner === one.node ? two : one
    for (const cluster of [one, two, three]) cluster.release('a')
    await until(async () => (await other.claim('a', undefined)) === other.node)
  })

  test('session limits count over all nodes and per client', async (t) => {
    const [first, second, third] = await begin(t, { sessions: 3, sessionsPerClient: 2 })
    const opened = await new RawClient(t, first.url).open()
    await new RawClient(t, second.url).open()
    const refused = new RawClient(t, third.url).open().catch(String)
    match(String(await refused), /429/)
    await opened.send('DELETE', undefined, opened.headers())
    await until(async () => (await new RawClient(t, third.url).open().catch(() => undefined)) !== undefined)
  })
}

async function openSession(t: TestContext, nodes: Three<SuiteNode>): Promise<Three<RawClient>> {
  const clients = nodes.map(({ url }) => new RawClient(t, url)) as unknown as Three<RawClient>
  await clients[0].open('raw', '2025-11-25', everything)
  for (const [index, client] of clients.entries()) {
    client.sessionId = clients[0].sessionId
    client.lastId = 1_000 * (index + 1)
  }
  return clients
}

function answerOf({ id }: Wire, result: object): object {
  return { jsonrpc: '2.0', id, result }
}

function withProgress(name: string, id = 7): object {
  return { ...callOf(name, id), params: { name, _meta: { progressToken: 5 } } }
}

function callOf(name: string, id = 7): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }
}
