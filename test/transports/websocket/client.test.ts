import * as assert from 'uvu/assert'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { startClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { serveWebSocket, TransportError, websocket } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { startLink } from '../_link.js'

const test = suite('websocket client', { timeout: 15_000 })

test('a client of a silent server drops the socket and reconnects', async (t) => {
  const peers = heard<WebSocket>()
  const http = createServer()
  const silent = new WebSocketServer({ server: http, handleProtocols: () => 'mcp', autoPong: false })
  silent.on('connection', (socket) => peers.add(socket))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of silent.clients) socket.terminate()
    return new Promise((resolve) => http.close(resolve))
  })
  const clock = createFakeClock()
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  const link = await startLink(t, websocket(url), clock)
  link.open(1)
  await link.news.next(({ type }) => type === 'opened')
  await peers.next()
  await clock.advance(30_000)
  const { error } = await link.closed()
  assert.is(error?.code, 'CONNECTION_LOST')
  assert.match(error?.message ?? '', /ping/)
})

test('401 or a missing mcp protocol is fatal, and an absent server is retried', async (t) => {
  const http = createServer()
  http.on('upgrade', (request: { url?: string }, socket: Socket) => {
    if (request.url === '/401') socket.end('HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\n\r\n')
    else plain.handleUpgrade(request as never, socket, Buffer.alloc(0), (upgraded) => upgraded.close())
  })
  const plain = new WebSocketServer({ noServer: true, handleProtocols: () => false })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const base = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`
  for (const [path, code] of [
    ['/401', 'UNAUTHORIZED'],
    ['/plain', 'CONNECT_FAILED'],
  ] as const) {
    const client = startClient({ transport: websocket(`${base}${path}`), logger: false })
    t.after(() => client.close())
    const error = await client.ready().catch((thrown: unknown) => thrown as Error)
    assert.ok(
      error?.cause instanceof TransportError && error.cause.code === code,
      `${path}: ${String(error)}`,
    )
    assert.is(client.state.phase, 'failed')
  }
  await new Promise((resolve) => http.close(resolve))
  const link = await startLink(t, websocket(`${base}/gone`))
  link.open(1)
  const { error, fatal } = await link.closed()
  assert.equal([error?.code, error?.retryable, fatal], ['CONNECT_FAILED', true, false])
})

test('options are checked', () => {
  const bad: (() => unknown)[] = [
    () => websocket('http://127.0.0.1/mcp'),
    () => websocket('ws://user:secret@127.0.0.1/mcp'),
    () => websocket('ws://127.0.0.1', { headers: { host: 'x' } }),
    () => serveWebSocket({ host: '0.0.0.0' }),
    () => serveWebSocket({ path: 'mcp' }),
    () => serveWebSocket({ port: 70_000 }),
    () => serveWebSocket({ extra: 1 } as never),
  ]
  for (const make of bad) {
    assert.throws(make, (error: unknown) => error instanceof TransportError && error.code === 'BAD_OPTION')
  }
})

test.run()
