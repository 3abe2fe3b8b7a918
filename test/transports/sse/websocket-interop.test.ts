// second tier: third party
import * as assert from 'uvu/assert'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import { serveSse, serveWebSocket, sse } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { connected } from '../_suite.js'
import { startSuiteServer } from '../_suite-server.js'

const test = suite('transports with the official SDKs', { timeout: 15_000 })
const first = '@modelcontextprotocol/sdk'
const second = '@modelcontextprotocol/client'

/** What these tests use of an official client. */
type OfficialClient = {
  connect(transport: object): Promise<void>
  callTool(params: object, ...rest: unknown[]): Promise<{ content: unknown }>
  close(): Promise<void>
}

/** Lists, calls twice, and sees progress in between. */
async function talk(t: TestContext, client: OfficialClient, transport: object): Promise<void> {
  await client.connect(transport)
  t.after(() => client.close())
  assert.equal((await client.callTool({ name: 'count' })).content, [{ type: 'text', text: '1' }])
  const big = 'x'.repeat(100_000)
  const echoed = await client.callTool({ name: 'echo', arguments: { text: big } })
  assert.equal(echoed.content, [{ type: 'text', text: big }])
  assert.equal((await client.callTool({ name: 'count' })).content, [{ type: 'text', text: '2' }])
}

test('the client of SDK 1 speaks HTTP+SSE with our server', async (t) => {
  const server = await startSuiteServer(serveSse())
  t.after(() => server.stop())
  const { Client } = await import(`${first}/client/index.js`)
  const { SSEClientTransport } = await import(`${first}/client/sse.js`)
  const transport = new SSEClientTransport(new URL(String(server.url)))
  await talk(t, new Client({ name: 'official', version: '1' }), transport)
})

test('the client of SDK 2 speaks HTTP+SSE with our server', async (t) => {
  const server = await startSuiteServer(serveSse())
  t.after(() => server.stop())
  const { Client, SSEClientTransport } = await import(second)
  const transport = new SSEClientTransport(new URL(String(server.url)))
  await talk(t, new Client({ name: 'official', version: '2' }), transport)
})

test('the client of SDK 1 speaks WebSocket with our server', async (t) => {
  const server = await startSuiteServer(serveWebSocket())
  t.after(() => server.stop())
  const { Client } = await import(`${first}/client/index.js`)
  const { WebSocketClientTransport } = await import(`${first}/client/websocket.js`)
  // this version of Node has none of its own
  const global = globalThis as { WebSocket?: unknown }
  const before = global.WebSocket
  global.WebSocket = WebSocket
  t.after(() => {
    global.WebSocket = before
  })
  const transport = new WebSocketClientTransport(new URL(String(server.url)))
  await talk(t, new Client({ name: 'official', version: '1' }), transport)
})

test('our client speaks HTTP+SSE with the server of SDK 1', async (t) => {
  const { McpServer } = await import(`${first}/server/mcp.js`)
  const { SSEServerTransport } = await import(`${first}/server/sse.js`)
  let posted: (request: IncomingMessage, response: ServerResponse) => unknown = () => {}
  const http = createServer(async (request, response) => {
    if (request.method === 'POST') return void posted(request, response)
    const transport = new SSEServerTransport('/messages', response)
    const mcp = new McpServer({ name: 'official', version: '1' })
    mcp.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hello' }] }))
    posted = (...args) => transport.handlePostMessage(...args)
    await mcp.connect(transport)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    return new Promise((resolve) => http.close(resolve))
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`
  const client = await connected(t, { connect: () => sse(url) })
  assert.is(client.server?.info.name, 'official')
  assert.is((await client.callTool('hello')).text, 'hello')
  assert.equal(
    (await client.listTools()).tools.map(({ name }) => name),
    ['hello'],
  )
})

test.run()
