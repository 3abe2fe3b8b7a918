// second tier: time
import * as assert from 'uvu/assert'
import { createServer, type IncomingMessage, type Server as NodeServer } from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { WebSocket } from 'ws'
import type { Server } from 'caduceus/server'
import {
  http,
  serveHttp,
  serveSse,
  serveWebSocket,
  sse,
  subscribeTransport,
  TransportError,
  websocket,
} from 'caduceus/transports'
import { suite, type TestContext } from '../../../support/suite.js'
import { connected, text } from '../../_suite.js'
import { startSuiteServer } from '../../_suite-server.js'

const test = suite('listeners of WebSocket and HTTP+SSE', { timeout: 15_000 })

async function listening(t: TestContext, server: NodeServer = createServer()): Promise<NodeServer> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return server
}

function portOf(server: NodeServer): number {
  return (server.address() as AddressInfo).port
}

async function start(t: TestContext, transport: Parameters<typeof startSuiteServer>[0]): Promise<Server> {
  const server = await startSuiteServer(transport)
  t.after(() => server.stop())
  return server
}

test('a host server carries its pages and all three transports in any order', async (t) => {
  for (const order of [0, 1, 2]) {
    const shared = await listening(
      t,
      createServer((_request, response) => response.end('a page')),
    )
    const transports = [
      serveHttp({ server: shared }),
      serveSse({ server: shared }),
      serveWebSocket({ server: shared, path: '/ws' }),
    ]
    for (let i = 0; i < 3; i++) await start(t, transports[(i + order) % 3] as (typeof transports)[number])
    const base = `127.0.0.1:${portOf(shared)}`
    for (const transport of [
      http(`http://${base}/mcp`),
      sse(`http://${base}/sse`),
      websocket(`ws://${base}/ws`),
    ]) {
      assert.is(await text(await connected(t, { connect: () => transport }), 'count'), '1')
    }
    assert.is(await (await fetch(`http://${base}/page`)).text(), 'a page')
  }
})

test('without host pages the first listener answers unknown paths with 404', async (t) => {
  for (const order of [0, 1]) {
    const shared = await listening(t)
    const transports = [serveHttp({ server: shared }), serveSse({ server: shared })]
    for (let i = 0; i < 2; i++) await start(t, transports[(i + order) % 2] as (typeof transports)[number])
    const base = `http://127.0.0.1:${portOf(shared)}`
    assert.is((await fetch(`${base}/nothing`)).status, 404)
    for (const transport of [http(`${base}/mcp`), sse(`${base}/sse`)])
      assert.is(await text(await connected(t, { connect: () => transport }), 'count'), '1')
  }
})

test('keep-alive is longer than that of proxies and agents, or as set', async (t) => {
  for (const serve of [serveHttp, serveSse, serveWebSocket])
    for (const [options, told] of [
      [{}, 'timeout=120'],
      [{ timeouts: { keepAlive: 7_000 } }, 'timeout=7'],
    ] as const) {
      const { port } = await start(t, serve({ ...options, health: true }))
      const { headers } = await fetch(`http://127.0.0.1:${port}/healthz`)
      assert.is(headers.get('keep-alive'), told)
    }
})

test('a server that listened before stays open after our stop', async (t) => {
  const shared = await listening(
    t,
    createServer((_request, response) => response.end('a page')),
  )
  const server = await start(t, serveWebSocket({ server: shared }))
  assert.is(server.port, portOf(shared))
  const client = await connected(t, { connect: () => websocket(String(server.url)) })
  await server.stop()
  while (client.state.phase === 'ready') await turn()
  assert.ok(shared.listening)
  assert.is(shared.listenerCount('upgrade'), 0)
  assert.is(await (await fetch(`http://127.0.0.1:${portOf(shared)}/mcp`)).text(), 'a page')
})

test('a server that was not listening is opened and closed by us', async (t) => {
  const own = createServer()
  const server = await startSuiteServer(serveSse({ server: own }))
  t.after(() => server.stop())
  assert.is(await text(await connected(t, { connect: () => sse(String(server.url)) }), 'count'), '1')
  await server.stop()
  assert.not.ok(own.listening)
})

test('connections per address are limited on an own server that we make listen', async (t) => {
  const given = createServer()
  const server = await startSuiteServer(
    serveWebSocket({ server: given, limits: { connectionsPerClient: 1 } }),
  )
  t.after(() => server.stop())
  const sockets = Array.from({ length: 103 }, () => connect(Number(server.port), '127.0.0.1'))
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  const closed = sockets.map(
    (socket) => new Promise((resolve) => socket.on('error', () => {}).once('close', resolve)),
  )
  await Promise.race([...closed, new Promise((resolve) => setTimeout(resolve, 2_000))])
  assert.is(sockets.filter(({ closed: isClosed }) => isClosed).length, 1)
})

test('with TLS options sockets and streams are served over TLS', async (t) => {
  // a shared key needs no certificate
  const secret = { ciphers: 'PSK-AES256-GCM-SHA384', maxVersion: 'TLSv1.2' } as const
  const key = Buffer.alloc(32, 7)
  const tls = { ...secret, pskCallback: () => key }
  const trust = {
    ...secret,
    pskCallback: () => ({ psk: key, identity: 'test' }),
    checkServerIdentity: () => undefined,
  } as object
  const sockets = await start(t, serveWebSocket({ tls }))
  assert.match(String(sockets.url), /^wss:\/\/127\.0\.0\.1:\d+\/mcp$/)
  const socket = new WebSocket(String(sockets.url), ['mcp'], trust)
  const answer = new Promise<string>((resolve) =>
    socket.once('message', (data: Buffer) => resolve(data.toString())),
  )
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
  assert.equal(JSON.parse(await answer).result, {})
  socket.terminate()
  const streams = await start(t, serveSse({ tls }))
  assert.match(String(streams.url), /^https:\/\/127\.0\.0\.1:\d+\/sse$/)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = https.get(String(streams.url), { ...trust, agent: false }, resolve)
    sent.on('error', reject)
    t.after(() => sent.destroy())
  })
  assert.is(response.statusCode, 200)
  response.destroy()
})

test('two Host headers, and none, are refused with 403 before anything else', async (t) => {
  const socketServer = await start(t, serveWebSocket())
  const streamServer = await start(t, serveSse())
  const upgrade = 'upgrade: websocket\r\nconnection: upgrade\r\n'
  for (const [server, line, rest] of [
    [socketServer, 'GET /mcp HTTP/1.1', upgrade],
    [streamServer, 'GET /sse HTTP/1.1', ''],
    [streamServer, 'POST /messages?sessionId=x HTTP/1.1', 'content-length: 0\r\n'],
  ] as const) {
    const good = `host: 127.0.0.1:${server.port}\r\n`
    for (const host of ['', `${good}host: evil.example\r\n`, `host: evil.example\r\n${good}`])
      assert.match(await statusLine(server, `${line}\r\n${host}${rest}\r\n`), / 403 /, `${line} ${host}`)
  }
})

test('a trusted proxy client cannot choose the host, and is told the refused one', async (t) => {
  const refused: unknown[] = []
  t.after(
    subscribeTransport('connection', ({ type, problem }) => {
      if (type === 'refused') refused.push(problem)
    }),
  )
  const options = { trustProxy: true, allowedHosts: ['mcp.example.com'] }
  const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-protocol: mcp\r\n'
  for (const [transport, line, more, taken] of [
    [serveHttp(options), 'GET /mcp', '', / 406 /],
    [serveSse(options), 'GET /sse', '', / 200 /],
    [serveWebSocket(options), 'GET /mcp', upgrade, / (?:101|400) /],
    [serveWebSocket(options), 'GET /mcp', '', / 426 /],
  ] as const) {
    const server = await start(t, transport)
    const ask = (host: string) =>
      statusLine(
        server,
        `${line} HTTP/1.1\r\nhost: ${host}\r\nx-forwarded-host: mcp.example.com\r\n${more}\r\n`,
      )
    assert.match(await ask('mcp.example.com'), taken)
    assert.equal(refused.splice(0), [])
    assert.match(await ask('evil.example'), / 403 /)
    assert.match(String(refused.splice(0)), /^Host: "evil\.example" is not a name of this server/)
  }
})

test('health answers any host, and readiness ends with the server', async (t) => {
  for (const transport of [serveSse({ health: true }), serveWebSocket({ health: true })]) {
    const server = await start(t, transport)
    const ask = (path: string) => statusLine(server, `GET ${path} HTTP/1.1\r\nhost: any.example\r\n\r\n`)
    assert.match(await ask('/healthz'), / 200 /)
    assert.match(await ask('/readyz'), / 200 /)
    assert.match(await ask('/other'), / 403 /)
  }
  const shared = await listening(t)
  const server = await start(t, serveSse({ server: shared, health: true }))
  const client = await connected(t, { connect: () => sse(`http://127.0.0.1:${portOf(shared)}/sse`) })
  const waiting = client.callTool('wait').catch((error: unknown) => error)
  while ((await server.sessions())[0]?.requests !== 1) await turn()
  const stopping = server.stop()
  const ready = async () => (await fetch(`http://127.0.0.1:${portOf(shared)}/readyz`)).status
  while ((await ready()) !== 503) await turn()
  await stopping
  await waiting
})

test('pages of allowed origins may use the streams, with preflight', async (t) => {
  const origin = 'https://app.example'
  const server = await start(t, serveSse({ cors: true, allowedOrigins: [origin] }))
  const preflight = await fetch(new URL('/messages', server.url), {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  })
  assert.is(preflight.status, 204)
  assert.is(preflight.headers.get('access-control-allow-origin'), origin)
  assert.is(preflight.headers.get('access-control-allow-headers'), 'content-type')
  const stream = await fetch(String(server.url), { headers: { origin, accept: 'text/event-stream' } })
  assert.equal([stream.status, stream.headers.get('access-control-allow-origin')], [200, origin])
  await stream.body?.cancel()
  const other = await fetch(String(server.url), { headers: { origin: 'https://evil.example' } })
  assert.equal([other.status, other.headers.get('access-control-allow-origin')], [403, null])
})

test('a client that sends its headers byte by byte is cut off, and others are served', async (t) => {
  const server = await start(t, serveWebSocket({ timeouts: { headers: 100 } }))
  const slow = connect(Number(server.port), '127.0.0.1')
  slow.on('error', () => {})
  slow.write('GET /mcp HT')
  slow.resume()
  await new Promise((resolve) => slow.once('close', resolve))
  assert.is(await text(await connected(t, { connect: () => websocket(String(server.url)) }), 'count'), '1')
})

test('a server and TLS options together are refused, and what is neither', () => {
  const bad: (() => unknown)[] = [
    () => serveSse({ server: createServer(), tls: {} }),
    () => serveWebSocket({ server: {} as never }),
    () => serveWebSocket({ tls: 'yes' as never }),
    () => serveSse({ trustProxy: 'yes' as never }),
  ]
  for (const make of bad)
    assert.throws(make, (error: unknown) => error instanceof TransportError && error.code === 'BAD_OPTION')
})

/** The first line of the answer to these bytes. */
function statusLine(server: Server, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(server.port), '127.0.0.1', () => socket.write(bytes))
    socket.on('error', reject)
    socket.once('data', (chunk) => {
      resolve(chunk.toString().split('\r\n')[0] ?? '')
      socket.destroy()
    })
  })
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()
