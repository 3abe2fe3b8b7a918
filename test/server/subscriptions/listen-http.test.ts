import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import * as assert from 'uvu/assert'
import { defineResource, defineTool } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient, type Stream, type Wire } from '../_client.js'
import { count, echo, startParts, startTestServer } from '../_servers.js'

const test = suite('subscriptions/listen by HTTP')

const acknowledged = 'notifications/subscriptions/acknowledged'
const toolsChanged = 'notifications/tools/list_changed'
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

test('a stream starts with its acknowledgement and ends with a result on stop', async (t) => {
  const server = await startTestServer(t, [count])
  const stream = await listen(t, server.url, { toolsListChanged: true }, 7)
  const tag = { 'io.modelcontextprotocol/subscriptionId': 7 }
  assert.is(stream.status, 200)
  assert.equal(await stream.next(), {
    jsonrpc: '2.0',
    method: acknowledged,
    params: { notifications: { toolsListChanged: true }, _meta: tag },
  })
  await server.addTool(echo)
  assert.equal(await stream.next(), { jsonrpc: '2.0', method: toolsChanged, params: { _meta: tag } })
  const stopped = server.stop()
  const { id, result } = await stream.next()
  assert.equal(
    [id, result?.resultType, (result?._meta as object | undefined) ?? {}],
    [7, 'complete', { ...tag, 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.0.0' } }],
  )
  await stream.ended
  await stopped
})

test('a server stops at once when there is nothing but streams', async (t) => {
  const server = await startTestServer(t, [count], { timeouts: { drain: 60_000 } })
  const stream = await listen(t, server.url, { toolsListChanged: true })
  await stream.next()
  await server.stop()
  await stream.ended
})

test('a client that leaves frees its stream slot', async (t) => {
  const server = await startTestServer(t, [count], { limits: { subscriptions: 1 } })
  const first = await listen(t, server.url, {})
  await first.next()
  assert.is((await listen(t, server.url, {})).status, 503)
  first.close()
  for (;;) {
    const next = await listen(t, server.url, {})
    if (next.status === 200) break
  }
})

test('session streams and request streams each hear of a change in their own form', async (t) => {
  const { server, client } = await startParts(t, { tools: [count] })
  const old = await client.listen()
  const modern = await listen(t, server.url, { toolsListChanged: true })
  await modern.next()
  await server.addTool(echo)
  assert.equal(await old.next(), { jsonrpc: '2.0', method: toolsChanged })
  assert.is((await modern.next()).method, toolsChanged)
})

test('a stream has no progress and no logs of other requests', async (t) => {
  const page = defineResource({ uri: 'x:', name: 'x', read: () => 'x' })
  const busy = defineTool({
    name: 'busy',
    run(_args, ctx) {
      ctx.progress(1, 1)
      ctx.log('error', 'logged')
      return 'done'
    },
  })
  const { server, client } = await startParts(t, { tools: [busy], resources: [page], logging: true })
  const stream = await listen(t, server.url, { resourceSubscriptions: ['x:'] }, 1)
  assert.is((await stream.next()).method, acknowledged)
  assert.is(await client.text('busy'), 'done')
  await modernCall(t, server.url)
  await server.resourceUpdated('x:')
  assert.is((await stream.next()).method, 'notifications/resources/updated')
})

test('a group restart ends a stream, and a new one gets later changes', async (t) => {
  const server = await startTestServer(t, [count])
  const first = await listen(t, server.url, { toolsListChanged: true })
  await first.next()
  server.registry.whereis('test/base')?.kill()
  await first.ended
  const second = await listenAgain(t, server.url)
  await server.addTool(echo)
  assert.is((await second.next()).method, toolsChanged)
})

test('a reader that pauses gets every change later, and nothing piles up', async (t) => {
  const last = defineResource({ uri: 'x:last', name: 'last', read: () => 'last' })
  const { server } = await startParts(t, { resources: [last] })
  const uris = Array.from({ length: 300 }, (_, n) => `x:${n}`.padEnd(8_192, '_'))
  const stream = await openPaused(t, server.url, uris)
  const other = await listen(t, server.url, { resourceSubscriptions: uris.slice(-1) })
  await other.next()
  // 25 MB, far more than sockets take
  const rounds = 10
  for (let round = 0; round < rounds; round++) {
    for (const uri of uris) await server.resourceUpdated(uri)
    await other.next()
  }
  await server.removeResource('x:last')
  const told = await stream.readUntil('notifications/resources/list_changed')
  const counts = uris.map((uri) => told.filter(({ params }) => params?.uri === uri).length)
  assert.ok(counts.every((count) => count >= 1))
  assert.ok(told.length < (uris.length * rounds) / 2, `${told.length} messages`)
})

/** While a group is being restarted, requests are told to come again. */
async function listenAgain(t: TestContext, url: string | undefined): Promise<Stream> {
  for (;;) {
    const stream = await listen(t, url, { toolsListChanged: true })
    if (stream.status !== 200) continue
    const first = await stream.next()
    if (first.method === acknowledged) return stream
  }
}

/** A stream of which nothing is read yet. */
async function openPaused(t: TestContext, url: string | undefined, resourceSubscriptions: readonly string[]) {
  const params = { notifications: { resourcesListChanged: true, resourceSubscriptions }, _meta: envelope }
  const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }
  const headers = modernClient(t, url, message.method).headers()
  const sent = request(String(url), { method: 'POST', agent: false, headers })
  sent.end(JSON.stringify(message))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.pause()
  t.after(() => response.destroy())
  const readUntil = async (method: string): Promise<Wire[]> => {
    const messages: Wire[] = []
    let rest = ''
    for await (const chunk of response.setEncoding('utf8')) {
      const events = `${rest}${chunk}`.split('\n\n')
      rest = events.pop() ?? ''
      const data = events.flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')))
      messages.push(...data.map((line) => JSON.parse(line.slice(6)) as Wire))
      if (messages.some((told) => told.method === method)) return messages
    }
    throw new Error(`the stream has ended before ${method}`)
  }
  return { readUntil }
}

function modernClient(t: TestContext, url: string | undefined, method: string, name?: string): RawClient {
  const client = new RawClient(t, url)
  client.own = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  }
  return client
}

async function listen(
  t: TestContext,
  url: string | undefined,
  notifications: object,
  id: number | string = 1,
): Promise<Stream> {
  const method = 'subscriptions/listen'
  const params = { notifications, _meta: envelope }
  const stream = await modernClient(t, url, method).stream({ jsonrpc: '2.0', id, method, params })
  t.after(() => stream.close())
  return stream
}

async function modernCall(t: TestContext, url: string | undefined): Promise<void> {
  const _meta = { ...envelope, progressToken: 1, 'io.modelcontextprotocol/logLevel': 'debug' }
  const client = modernClient(t, url, 'tools/call', 'busy')
  const answer = await client.ask('tools/call', { name: 'busy', arguments: {}, _meta })
  assert.is(answer.result?.content?.[0]?.text, 'done')
}

test.run()
