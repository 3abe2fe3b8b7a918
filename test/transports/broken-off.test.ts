import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { mount, serveHttp, type ServerTransport, serveSse, serveWebSocket } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('clients that break off', { timeout: 20_000 })

const definition = defineServer({
  name: 'patient',
  version: '1',
  tools: [
    defineTool({ name: 'echo', run: () => 'here' }),
    defineTool({ name: 'slow', run: (_, { signal }) => once(signal, 'abort').then(() => 'late') }),
  ],
})

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
})
const slow = JSON.stringify({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: {
    name: 'slow',
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

function post(path: string, body: string, length = Buffer.byteLength(body), headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${headers}Content-Length: ${length}\r\n\r\n${body}`
}

const modern = 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: slow\r\n'
const upgrade = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n\r\n`
const get = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`

/** What is sent before the connection breaks. */
const beginnings: Readonly<Record<string, readonly string[]>> = {
  nothing: [''],
  'half a head': ['POST /mcp HTTP/1.1\r\nHost: 127'],
  'no HTTP': ['\u0016\u0003\u0001 hello'],
  'half a body': ['/mcp', '/messages', '/sse'].map((path) => post(path, '{', 1_000)),
  'a body in chunks': [
    post('/mcp', '').replace('Content-Length: 0', 'Transfer-Encoding: chunked').concat('5\r\n{"js'),
  ],
  'a body of wrong chunks': [
    post('/mcp', '').replace('Content-Length: 0', 'Transfer-Encoding: chunked').concat('zz\r\n{"js'),
  ],
  'a beginning': [post('/mcp', initialize)],
  'a call at work': [post('/mcp', slow, undefined, modern)],
  'a stream': [get('/mcp'), get('/sse')],
  'an upgrade': [upgrade('/mcp')],
  'half a frame': [`${upgrade('/mcp')}\u0081\u0020`],
  'a wrong frame': [`${upgrade('/mcp')}\u00ff\u00ff\u00ff\u00ff`],
  'a line': [`${initialize}\n{"half`],
}

const ends: Readonly<Record<string, (socket: Socket) => void>> = {
  closes: (socket) => socket.destroy(),
  resets: (socket) => socket.resetAndDestroy(),
  'half closes': (socket) => socket.end(),
}

/** A machine that stands still is no matter of clients. */
const onBlocked = 'ignore'

/** A logger that keeps what is louder than debug. */
function loud() {
  const lines: string[] = []
  const keep =
    (level: string) =>
    (facts: object, message: string): void => {
      // said at the start, whoever comes
      if (message.startsWith('server.notice')) return
      lines.push(
        `${level} ${message} ${JSON.stringify(facts)} ${String((facts as { err?: Error }).err?.stack)}`,
      )
    }
  return { lines, logger: { debug() {}, info: keep('info'), warn: keep('warn'), error: keep('error') } }
}

type Where = { readonly port: number } | { readonly path: string }

async function breakOff(t: TestContext, where: Where): Promise<void> {
  for (const beginning of Object.values(beginnings).flat())
    for (const end of Object.values(ends)) {
      const socket = connect({ host: '127.0.0.1', ...where } as never)
      t.after(() => socket.destroy())
      socket.on('error', () => {})
      await once(socket, 'connect')
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.resume()
      await new Promise((resolve) => socket.write(beginning, 'latin1', resolve))
      await new Promise((resolve) => setTimeout(resolve, 5))
      end(socket)
      setTimeout(() => socket.destroy(), 20)
      await closed
    }
}

const listeners: Readonly<Record<string, () => ServerTransport>> = {
  'Streamable HTTP': () => serveHttp({ path: '/mcp' }),
  'HTTP+SSE': () => serveSse(),
  WebSockets: () => serveWebSocket(),
}

for (const [name, transport] of Object.entries(listeners))
  test(`cause no report louder than debug: ${name}`, async (t) => {
    const { lines, logger } = loud()
    const server = await startServer(definition, { transport: transport(), logger, onBlocked })
    t.after(() => server.stop())
    await breakOff(t, { port: Number(server.port) })
    await server.stop()
    assert.equal(lines, [])
  })

test('cause no report louder than debug: within a web server', async (t) => {
  const { lines, logger } = loud()
  const mounted = mount()
  const server = await startServer(definition, { transport: mounted, logger, onBlocked })
  t.after(() => server.stop())
  const web = createServer((request, response) => mounted.handler(request, response))
  web.listen(0, '127.0.0.1')
  t.after(() => {
    web.closeAllConnections()
    web.close()
  })
  await once(web, 'listening')
  await breakOff(t, { port: (web.address() as AddressInfo).port })
  await server.stop()
  assert.equal(lines, [])
})

test('cause no report louder than debug: a request of fetch whose body breaks', async (t) => {
  const { lines, logger } = loud()
  const mounted = mount()
  const server = await startServer(definition, { transport: mounted, logger, onBlocked })
  t.after(() => server.stop())
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    host: 'localhost',
  }
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode('{'))
      controller.error(new Error('the client has gone'))
    },
  })
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  await mounted.fetch(new Request('http://localhost/mcp', init)).catch(() => {})
  const controller = new AbortController()
  const call = mounted.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        ...headers,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'slow',
      },
      body: slow,
      signal: controller.signal,
    }),
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
  controller.abort()
  await call.catch(() => {})
  await server.stop()
  assert.equal(lines, [])
})

test.run()
