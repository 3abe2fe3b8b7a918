import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { crash, fakeClock, scriptedClient, until } from 'caduceus/testing'
import { http, memory, serveHttp } from 'caduceus/transports'
import { isObject } from '../support/is-object.js'
import { rejection } from '../client/_raw.js'
import { count } from '../server/_servers.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('testing: a scripted client')

const ask = defineTool({
  name: 'ask',
  async run(_args, ctx) {
    const roots = await ctx.roots('where')
    return roots.map(({ uri }) => uri).join()
  },
})
const definition = defineServer({ name: 'asking', version: '1', tools: [ask, count] })

/** A server in memory. */
async function serve(t: TestContext) {
  const pair = memory()
  const server = await startServer(definition, { transport: pair.serve, logger: false })
  t.after(() => server.stop())
  return { server, connect: pair.connect }
}

test('a scripted client shakes hands on demand and answers questions', async (t) => {
  const { server, connect } = await serve(t)
  await using client = await scriptedClient(connect, { 'roots/list': { roots: [{ uri: 'file:///a' }] } })
  assert.equal(await server.sessions(), [])
  const { serverInfo } = await client.initialize()
  assert.equal(serverInfo, { name: 'asking', version: '1' })
  const { content } = await client.request('tools/call', { name: 'ask' })
  assert.equal(content, [{ type: 'text', text: 'file:///a' }])
  assert.is((await client.next('roots/list')).method, 'roots/list')
  const [session] = await server.sessions()
  assert.equal(session?.capabilities, { roots: { listChanged: true } })
})

test('a scripted client can break rules and see the reaction', async (t) => {
  const { connect } = await serve(t)
  await using client = await scriptedClient(connect)
  const early = await rejection(client.request('tools/list'))
  assert.type(early.code, 'number')
  client.send('{"jsonrpc":')
  const answer = await client.next((message) => 'error' in message && message.error.code === -32700)
  assert.is('error' in answer && answer.error.code, -32700)
  await client.initialize({ protocolVersion: '2024-11-05', clientInfo: { name: 'old', version: '1' } })
  client.send({ jsonrpc: '2.0', id: 7, method: 'nonsense' })
  const { error } = (await client.next((message) => 'id' in message && message.id === 7)) as {
    error?: unknown
  }
  assert.ok(isObject(error) && error.code === -32601)
})

test('a scripted client does not reconnect and reports its end', async (t) => {
  const { server, connect } = await serve(t)
  const client = await scriptedClient(connect, { 'roots/list': () => undefined })
  t.after(() => client.close())
  await client.initialize()
  const gone = until(async () => (await server.sessions()).length === 0)
  const asked = rejection(client.request('tools/call', { name: 'ask' }))
  // the answer waits for its own
  await client.next('roots/list')
  await client.close()
  await client.close()
  assert.is((await asked).code, 'CONNECTION_LOST')
  await client.closed
  await gone
  const late = rejection(client.request('tools/list'))
  assert.is((await late).code, 'NOT_OPEN')
  await server.stop()
  assert.is((await rejection(scriptedClient(connect))).code, 'CONNECT_FAILED')
})

test('an unanswered question rejects at its timeout, and scripts may stay silent', async (t) => {
  const { connect } = await serve(t)
  await using client = await scriptedClient(connect, { 'roots/list': () => undefined })
  await client.initialize()
  const clock = fakeClock()
  const call = rejection(client.request('tools/call', { name: 'ask' }, { timeout: 100, clock }))
  await client.next('roots/list')
  await clock.advance(100)
  assert.is((await call).code, 'SEND_FAILED')
})

test('a scripted client uses any transport, HTTP included', async (t) => {
  const server = await startServer(definition, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  await using client = await scriptedClient(http(String(server.url)))
  await client.initialize()
  for (const text of ['1', '2']) {
    const { content } = await client.request('tools/call', { name: 'count' })
    assert.equal(content, [{ type: 'text', text }])
  }
  const [session] = await server.sessions()
  if (session === undefined) throw new Error('there is no session')
  await crash(session)
  const { content } = await client.request('tools/call', { name: 'count' })
  assert.equal(content, [{ type: 'text', text: '3' }])
})

test.run()
