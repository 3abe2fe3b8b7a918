import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ClientState, startClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { TransportError, websocket } from 'caduceus/transports'
import { selfSigned } from '../../support/certificate.js'
import { type Heard, heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('websocket client ends', { timeout: 10_000 })

/** One message that a server heard, and the socket it came on. */
type Asked = { readonly socket: WebSocket; readonly id: number; readonly method: string }

/** Answers `initialize`, and leaves the rest to the test. */
function serve(t: TestContext, server: WebSocketServer): Heard<Asked> {
  const asked = heard<Asked>()
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const { id, method } = JSON.parse(String(data))
      const serverInfo = { name: 'raw', version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
      if (method === 'initialize') socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }))
      else if (id === undefined || method === 'ping') return
      else if (method === 'server/discover')
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
      else asked.add({ socket, id, method })
    })
  })
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    return new Promise((resolve) => server.close(resolve))
  })
  return asked
}

test('a server that closes the socket fails the call by code, then is reconnected', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' })
  const asked = serve(t, server)
  if (server.address() === null) await new Promise((resolve) => server.once('listening', resolve))
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const client = startClient({ transport: websocket(url), backoff: { base: 1, cap: 1 }, logger: false })
  t.after(() => client.close())
  const states = heard<ClientState>()
  client.onState(states.add)
  for (const [code, reason] of [
    [1000, 'see you'],
    [1011, 'out of memory'],
  ] as const) {
    const call = client.callTool('x').catch((error: unknown) => error)
    const { socket } = await asked.next()
    socket.close(code, reason)
    assert.match(String(await call), `closed the socket with ${code} (${reason})`)
    const lost = await states.next(({ phase }) => phase === 'disconnected')
    assert.ok(lost.reason instanceof TransportError && lost.reason.retryable)
    assert.equal(lost.reason.data, { code, reason })
    await states.next(({ phase }) => phase === 'ready')
  }
  const call = client.callTool('x')
  const { socket, id } = await asked.next()
  socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'here' }] } }))
  assert.is((await call).text, 'here')
})

test('a self-signed server is refused, unless its certificate is an authority', async (t) => {
  const own = selfSigned()
  const secure = createServer(own)
  serve(t, new WebSocketServer({ server: secure, handleProtocols: () => 'mcp' }))
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => secure.close(resolve)))
  const url = `wss://localhost:${(secure.address() as AddressInfo).port}/mcp`
  const refused = startClient({ transport: websocket(url), logger: false })
  t.after(() => refused.close())
  const { cause } = (await refused.ready().catch((thrown: unknown) => thrown)) as Error
  assert.ok(cause instanceof TransportError && cause.code === 'CONNECT_FAILED', String(cause))
  const client = startClient({ transport: websocket(url, { tls: { ca: own.cert } }), logger: false })
  t.after(() => client.close())
  await client.ready()
})

test('a server that does not take leave is left after two seconds', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' })
  serve(t, server)
  if (server.address() === null) await new Promise((resolve) => server.once('listening', resolve))
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const clock = createFakeClock()
  const client = startClient({ transport: websocket(url), clock, logger: false })
  await client.ready()
  for (const socket of server.clients) socket.pause()
  let isClosed = false
  const closed = client.close().then(() => {
    isClosed = true
  })
  let waited = 0
  while (!isClosed && waited < 10_000) {
    await clock.advance(100)
    await new Promise(setImmediate)
    waited += 100
  }
  await closed
  assert.ok(waited >= 2_000 && waited < 4_000, `${waited} ms`)
})

test.run()
