import * as assert from 'uvu/assert'
import { defineResource, defineServer, defineTool, type Server, type ServerOptions } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { Suite, TestContext } from '../../support/suite.js'
import { initialize, RawClient, type Wire } from '../_client.js'
import { as, byName } from '../_principals.js'
import { count, echo } from '../_servers.js'
import { posted } from '../_stateless.js'
import { everything, form, textOf } from '../context/_asking.js'
import { eventually, startClients, startCluster, type WayTo } from './_servers.js'

const works = defineTool({
  name: 'works',
  async run(_args, ctx) {
    ctx.progress(1, 2, 'half')
    ctx.log('info', 'at work')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  },
})
const asks = defineTool({
  name: 'asks',
  run: async (_args, ctx) => JSON.stringify((await ctx.elicit('who', form)).content),
})
const samples = defineTool({
  name: 'samples',
  async run(_args, ctx) {
    const said = { role: 'user', content: { type: 'text', text: 'hello' } } as const
    return JSON.stringify((await ctx.sample('say', { messages: [said], maxTokens: 10 })).content)
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
/** What all tests with nodes are made with. */
export const definition = defineServer({
  name: 'test',
  version: '1',
  tools: [count, echo, works, asks, samples, touches],
  resources: [defineResource({ uri: 'file:///a', name: 'a', read: () => 'a' })],
  logging: true,
})

type Three = readonly [Server, Server, Server]

/** How the tests get what three nodes share, for one test. */
export type StartEngine = (t: TestContext) => Promise<WayTo>

/** What three servers that share an engine do as one. */
export function threeNodesSuite(test: Suite, startEngine: StartEngine): void {
  async function start(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Three> {
    const wayTo = await startEngine(t)
    return (await startCluster(t, wayTo, [definition, definition, definition], options)) as unknown as Three
  }

  test('a session opened on one node is confirmed on another, and used on all', async (t) => {
    const [first, second, third] = await start(t)
    const opener = new RawClient(t, first.url)
    const { headers } = await opener.post(initialize('raw', '2025-11-25', everything))
    const clients = [first, second, third].map(({ url }) => new RawClient(t, url)) as [RawClient, RawClient]
    for (const client of clients) client.sessionId = String(headers['mcp-session-id'])
    assert.is((await clients[1].tell('notifications/initialized')).status, 202)
    for (const client of [...clients, ...clients]) await client.text('count')
    assert.is(await clients[1].text('count'), '7')
    // a question is asked of a client that has confirmed only
    const stream = await clients[0].stream(callOf('asks'))
    const { id, method } = await stream.next()
    assert.is(method, 'elicitation/create')
    await clients[1].post({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } })
    assert.is(await textOf(stream), '{"name":"Ada"}')
  })

  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
    test(`owner, POST, GET stream and answers on different nodes (${revision})`, async (t) => {
      const [, second, third] = await startClients(t, await start(t), revision)
      const listening = await third.listen()
      const working = await second.stream(withProgress('works', 8))
      const told = [await working.next(), await working.next()]
      assert.equal(
        told.map(({ method, params }) => [method, params?.progressToken ?? params?.data]),
        [
          ['notifications/progress', 5],
          ['notifications/message', 'at work'],
        ],
      )
      const sampling = await second.stream(callOf('samples', 9))
      const question = await sampling.next()
      assert.is(question.method, 'sampling/createMessage')
      const content = { type: 'text', text: 'hi' }
      const result = { role: 'assistant', model: 'm', content }
      assert.is((await third.post({ jsonrpc: '2.0', id: question.id, result })).status, 202)
      assert.equal(JSON.parse((await textOf(sampling)) ?? ''), content)
      await third.tell('notifications/cancelled', { requestId: 8, reason: 'enough' })
      await working.ended
      await second.text('touches')
      const changed = await listening.next()
      assert.is(changed.method, 'notifications/tools/list_changed')
      listening.close()
    })

  test('a batch is served where its session runs', async (t) => {
    const [first, second] = await startClients(t, await start(t), '2025-03-26')
    const batch = [callOf('count', 1), { jsonrpc: '2.0', id: 2 }, withProgress('count', 3)]
    const answer = await second.post(batch)
    // in any order (JSON-RPC 2.0, section 6)
    assert.equal(answer.messages.map(({ id, error }) => `${id} ${error?.code}`).sort(), [
      '1 undefined',
      '3 undefined',
      'undefined -32600',
    ])
    assert.is(await first.text('count'), '3')
  })

  test('DELETE on any node ends a session for all', async (t) => {
    const servers = await start(t)
    const clients = await startClients(t, servers)
    const [first, second, third] = clients
    const listening = await second.listen()
    assert.is((await third.send('DELETE', undefined, third.headers())).status, 204)
    await listening.ended
    for (const client of [third, second, first]) assert.is((await client.post(ping)).status, 404)
    for (const server of servers) assert.equal(await server.sessions(), [])
  })

  test('a session works for its principal on every node and is unknown to others', async (t) => {
    const servers = await start(t, { transport: serveHttp({ health: true, authenticate: byName }) })
    const clients = servers.map(({ url }) => new RawClient(t, url)) as [RawClient, RawClient, RawClient]
    const [ada] = clients
    for (const client of clients) client.own = as('ada')
    await ada.open()
    for (const client of clients) client.sessionId = ada.sessionId
    assert.is(await clients[1].text('count'), '1')
    for (const client of clients)
      for (const name of ['bob', 'ada@https://other.example']) {
        const stranger = new RawClient(t, client.url.href)
        stranger.own = as(name)
        stranger.sessionId = ada.sessionId
        const statuses = [
          (await stranger.post(ping)).status,
          (await stranger.tell('notifications/initialized')).status,
          (await stranger.listen()).status,
          (await stranger.send('DELETE', undefined, stranger.headers())).status,
        ]
        assert.equal(statuses, [404, 404, 404, 404])
      }
    assert.is(await clients[2].text('count'), '2')
  })

  test('concurrency limits count over all nodes', async (t) => {
    const options = { limits: { sessions: 4, sessionsPerClient: 2 } }
    const authenticated = { transport: serveHttp({ authenticate: byName }), ...options }
    const servers = await start(t, authenticated)
    const open = async (index: number, name: string): Promise<[number, string | undefined, RawClient]> => {
      const client = new RawClient(t, servers[index]?.url)
      client.own = as(name)
      const { status, headers } = await client.post(initialize())
      client.sessionId = String(headers['mcp-session-id'])
      // one whose client says nothing more would make room for others
      if (status === 200) await client.tell('notifications/initialized')
      return [status, headers['retry-after'], client]
    }
    const [, , ada] = await open(0, 'ada')
    assert.equal((await open(1, 'ada')).slice(0, 2), [200, undefined])
    assert.equal((await open(2, 'ada')).slice(0, 2), [429, '10'])
    assert.equal((await open(2, 'bob')).slice(0, 2), [200, undefined])
    assert.equal((await open(1, 'bob')).slice(0, 2), [200, undefined])
    assert.equal((await open(0, 'eve')).slice(0, 2), [503, '10'])
    await ada.send('DELETE', undefined, ada.headers())
    await eventually(async () => (await open(2, 'eve'))[0] === 200)
  })

  test('changes made anywhere reach clients of both eras on any node', async (t) => {
    const servers = await start(t)
    const [first, second, third] = await startClients(t, servers)
    await first.ask('resources/subscribe', { uri: 'file:///a' })
    const listening = await third.listen()
    const modern = new RawClient(t, servers[2].url)
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['file:///a'] }
    const { body, headers } = posted('subscriptions/listen', { notifications })
    modern.own = headers
    const subscribed = await modern.stream(body)
    await subscribed.next()
    await second.text('touches')
    const changes = ['notifications/resources/updated', 'notifications/tools/list_changed']
    for (const stream of [listening, subscribed])
      assert.equal([(await stream.next()).method, (await stream.next()).method].sort(), changes)
    await servers[1].resourceUpdated('file:///a')
    for (const stream of [listening, subscribed]) assert.is((await stream.next()).method, changes[0])
    listening.close()
    subscribed.close()
  })

  for (const parking of [true, false])
    test(`a 2026-07-28 retry is served by another node (parking: ${parking})`, async (t) => {
      const servers = await start(t, { limits: { parked: parking ? 1_000 : 0 } })
      const clients = servers.map(({ url }) => new RawClient(t, url))
      const send = async (index: number, more: object = {}): Promise<Wire['result']> => {
        const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
        const { body, headers } = posted('tools/call', { name: 'asks', arguments: {}, _meta, ...more })
        const { messages, body: text } = (await clients[index]?.post(body, headers)) ?? {}
        const [answer] = messages ?? []
        if (answer?.result === undefined) throw new Error(text)
        return answer.result
      }
      const { requestState, inputRequests, resultType } = (await send(0)) ?? {}
      assert.is(resultType, 'input_required')
      const [name = ''] = Object.keys(inputRequests as object)
      const inputResponses = { [name]: { action: 'accept', content: { name: 'Ada' } } }
      for (const index of [1, 2]) {
        const answered = await send(index, { requestState, inputResponses })
        assert.is(answered?.content?.[0]?.text, '{"name":"Ada"}')
      }
    })

  test('a list continues on another node than it began on', async (t) => {
    const servers = await start(t, { limits: { pageSize: 4 } })
    const page = async (index: number, cursor?: unknown): Promise<Wire['result']> => {
      const { body, headers } = posted('tools/list', cursor === undefined ? {} : { cursor })
      const { messages } = await new RawClient(t, servers[index]?.url).post(body, headers)
      return messages[0]?.result
    }
    const first = await page(0)
    const second = await page(1, first?.nextCursor)
    const names = [...(first?.tools ?? []), ...(second?.tools ?? [])].map(({ name }) => name)
    assert.equal(names, ['count', 'echo', 'works', 'asks', 'samples', 'touches'])
  })

  test('a node that ends fails its calls, and its sessions move within three seconds', async (t) => {
    const servers = await start(t)
    const [, second, third] = await startClients(t, servers)
    assert.is(await second.text('count'), '1')
    const working = await third.stream(withProgress('works'))
    await working.next()
    await eventually(async () => (await statusOf(second)) === 200)
    servers[0].ref.kill()
    const since = performance.now()
    await eventually(async () => (await statusOf(second)) === 200)
    assert.ok(performance.now() - since < 3_000, `${Math.round(performance.now() - since)} ms`)
    assert.is(await second.text('count'), '2')
    assert.is(await third.text('count'), '3')
    const messages: Wire[] = []
    for (;;) {
      const message = await working.next()
      messages.push(message)
      if (message.id !== undefined) break
    }
    const { error } = messages.at(-1) ?? {}
    assert.is(error?.code, -32603)
    assert.equal(error?.data, { retryable: true })
  })

  test('a stopping node finishes its calls, and its sessions move at once', async (t) => {
    const servers = await start(t, { timeouts: { drain: 5_000 } })
    const [first, second, third] = await startClients(t, servers)
    const others = await Promise.all([1, 2, 3].map(() => new RawClient(t, servers[0].url).open()))
    for (const client of [first, ...others]) await client.text('count')
    const asking = await second.stream(callOf('asks', 99))
    const question = await asking.next()
    const stopped = servers[0].stop()
    // it goes when it is idle
    assert.is(await third.text('count'), '2')
    for (const client of others) {
      const elsewhere = new RawClient(t, servers[2].url)
      elsewhere.sessionId = client.sessionId
      assert.is(await elsewhere.text('count'), '2')
    }
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'decline' } }
    assert.is((await third.post(answer)).status, 202)
    assert.is((await asking.next()).id, 99)
    await stopped
    const since = performance.now()
    assert.is(await second.text('count'), '3')
    assert.is(await third.text('count'), '4')
    // of a node that dies they would wait for the end of its lease, which is 2,500 ms or more
    assert.ok(performance.now() - since < 2_400, `${Math.round(performance.now() - since)} ms`)
  })

  test('a stopping node loses no forwarded call', async (t) => {
    const servers = await start(t, { timeouts: { drain: 5_000 } })
    const clients = await Promise.all(
      Array.from({ length: 12 }, () => new RawClient(t, servers[0].url).open()),
    )
    let isStopped = false
    const calling = clients.map(async ({ sessionId }, index) => {
      const { url } = servers[index % 2 === 0 ? 1 : 2]
      const elsewhere = new RawClient(t, url)
      elsewhere.sessionId = sessionId
      for (let calls = 1; !isStopped || calls < 5; calls += 1)
        assert.is(await elsewhere.text('count'), String(calls))
    })
    await servers[0].stop()
    isStopped = true
    await Promise.all(calling)
  })
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

async function statusOf(client: RawClient): Promise<number> {
  return (await client.post(ping)).status
}

function withProgress(name: string, id: number = 7): object {
  return { ...callOf(name, id), params: { name, _meta: { progressToken: 5 } } }
}

function callOf(name: string, id: number = 7): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }
}
