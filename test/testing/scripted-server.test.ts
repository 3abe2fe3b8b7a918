import * as assert from 'uvu/assert'
import { startClient, type StartClientOptions } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { type Script, type ScriptedServer, scriptedServer, until } from 'caduceus/testing'
import { rejection } from '../client/_raw.js'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('testing: a scripted server')

const done = { content: [{ type: 'text', text: 'done' }] }

/** A client of a server that follows this script. */
function play(t: TestContext, script: Script<ScriptedServer>, options: Partial<StartClientOptions> = {}) {
  const server = scriptedServer(script)
  const backoff = { base: 1, cap: 1 }
  const client = startClient({ transport: server.transport, backoff, logger: false, ...options })
  t.after(() => client.close())
  return { server, client }
}

test('a scripted server shakes hands and answers by its script', async (t) => {
  const { server, client } = play(t, {
    'tools/list': { tools: [] },
    'tools/call': done,
    'custom/one': { n: 1 },
  })
  assert.is((await client.callTool('any', { a: 1 })).text, 'done')
  assert.equal((await client.listTools()).tools, [])
  assert.equal(await client.request('custom/one'), { n: 1 })
  await client.ping()
  assert.is((await rejection(client.request('prompts/list'))).code, -32601)
  assert.equal(client.server?.capabilities, { tools: { listChanged: true } })
  assert.equal((await server.next('tools/call')).params, { name: 'any', arguments: { a: 1 } })
  assert.equal(
    server.received.all.slice(0, 2).map((message) => 'method' in message && message.method),
    ['initialize', 'notifications/initialized'],
  )
})

test('scripted answers may be errors, functions, late, missing or queued', async (t) => {
  const { client } = play(t, {
    'tools/call': [
      new McpError(-32000, 'not yet', { data: { wait: 1 } }),
      new Error('a bug in the script'),
      ({ params }) => ({ content: [{ type: 'text', text: String(params?.name) }] }),
      async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return done
      },
      () => undefined,
      done,
    ],
  })
  const first = await rejection(client.callTool('a'))
  assert.equal([first.code, first.message, first.data], [-32000, 'not yet', { wait: 1 }])
  const second = await rejection(client.callTool('a'))
  assert.equal([second.code, second.message], [-32603, 'a bug in the script'])
  assert.is((await client.callTool('mine')).text, 'mine')
  assert.is((await client.callTool('a')).text, 'done')
  assert.is((await rejection(client.callTool('a', {}, { timeout: 20 }))).code, 'TIMEOUT')
  for (let i = 0; i < 2; i++) assert.is((await client.callTool('a')).text, 'done')
})

test('a failed handshake is recorded like other messages', async (t) => {
  const initialize = {
    protocolVersion: '1999-01-01',
    capabilities: {},
    serverInfo: { name: 'old', version: '0' },
  }
  const { client } = play(t, { initialize })
  assert.is((await rejection(client.ready())).code, 'NO_COMMON_REVISION')
})

test('a dropped connection is a new one soon, and refused ones are tried again', async (t) => {
  const { server, client } = play(t, { 'tools/call': [() => undefined, done] })
  await client.ready()
  const call = rejection(client.callTool('a'))
  await server.next('tools/call')
  server.refuse(2)
  server.drop()
  assert.is((await call).code, 'CONNECTION_LOST')
  const { attempt } = await until(client, (state) => state.attempt === 3)
  assert.is(attempt, 3)
  await client.ready()
  assert.is(server.connections, 2)
  assert.is((await client.callTool('a')).text, 'done')
})

test('a scripted server can notify and ask, and gets the answers', async (t) => {
  const { server, client } = play(t, {})
  const news = heard<object>()
  client.onNotification('custom/news', news.add)
  assert.throws(() => server.notify('custom/news'), /there is no connection/)
  await client.ready()
  server.notify('custom/news', { n: 1 })
  assert.equal(await news.next(), { n: 1 })
  assert.equal(await server.request('ping'), {})
  const refused = await rejection(server.request('custom/question', {}))
  assert.instance(refused, McpError)
  assert.is(refused.code, -32601)
})

test('a scripted server can send junk, which the client counts', async (t) => {
  const { server, client } = play(t, {
    'tools/call': (_, server) => {
      server.send('no JSON at all')
      server.send({ jsonrpc: '2.0', id: 99, result: {} })
      return done
    },
  })
  assert.is((await client.callTool('a')).text, 'done')
  const { junk, unknown } = client.inspect().counts
  assert.equal([junk, unknown, server.connections], [1, 1, 1])
})

test('a wrong script or number of refusals is refused', () => {
  assert.throws(() => scriptedServer([] as never), /script: expected an object of answers by method/)
  assert.throws(() => scriptedServer({}, { refuse: -1 }), /refuse: expected a number of 0 or more, got -1/)
})

test.run()
