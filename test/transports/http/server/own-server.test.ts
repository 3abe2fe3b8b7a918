import { createServer, type Server } from 'node:http'
import * as https from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { serveHttp, serveSse, serveWebSocket } from 'caduceus/transports'
import { startAllowance } from '../../../support/allowance.mjs'
import { selfSigned } from '../../../support/certificate.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, goodHeaders, holding, startListener } from '../../_listener.js'

const test = suite('http own server')

test('an already listening own server is shared and keeps its own requests', async (t) => {
  const own: string[] = []
  const server = createServer((request, response) => {
    own.push(String(request.url))
    response.end('own')
  })
  const port = await listen(t, server)
  const listening = await startListener(t, {}, { server, health: true })
  assert.is(listening.url, `http://127.0.0.1:${port}/mcp`)
  assert.is((await exchange(t, listening.url)).status, 200)
  assert.is(await (await exchange(t, `http://127.0.0.1:${port}/mcpx`, { method: 'GET' })).ended, 'own')
  assert.is(await (await exchange(t, `http://127.0.0.1:${port}/healthz`, { method: 'GET' })).ended, 'ok\n')
  server.on('request', (request) => own.push(`late ${request.url}`))
  assert.is((await exchange(t, `${listening.url}?x`)).status, 200)
  await listening.stop()
  assert.ok(server.listening)
  assert.is(await (await exchange(t, listening.url)).ended, 'own')
  assert.equal(own, ['/mcpx', '/mcp', 'late /mcp'])
})

test('streams on an own server end when the MCP server stops', async (t) => {
  const server = createServer((_request, response) => response.end('own'))
  await listen(t, server)
  const held = holding()
  const listening = await startListener(t, held.port, { server })
  const stream = await exchange(t, listening.url, { method: 'GET' })
  assert.is(stream.status, 200)
  await listening.stop()
  await stream.ended
})

test('an idle own server is made to listen and closed at the end', async (t) => {
  const server = createServer()
  const listening = await startListener(t, {}, { server })
  assert.ok(server.listening)
  assert.is((await exchange(t, listening.url)).status, 200)
  // nobody else answers here
  assert.is((await exchange(t, new URL('/other', listening.url).href)).status, 404)
  await listening.stop()
  assert.not.ok(server.listening)
})

for (const [name, serve] of Object.entries({ http: serveHttp, sse: serveSse, websocket: serveWebSocket }))
  test(`an unfinished TLS handshake does not delay the end of ${name}`, async (t) => {
    const server = await startServer(defineServer({ name: 'slow', version: '1', tools: [] }), {
      transport: serve({ tls: selfSigned() }),
      logger: false,
    })
    t.after(() => server.stop())
    const socket = connect(Number(server.port), '127.0.0.1')
    const cut = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
    await new Promise((resolve) => socket.once('connect', resolve))
    await new Promise((resolve) => setTimeout(resolve, 20))
    const allowed = startAllowance(2_500)
    await server.stop()
    assert.ok(allowed.left() > 0)
    await cut
  })

test('an own server beyond loopback needs allowedHosts', async (t) => {
  const server = createServer()
  server.address = () => ({ address: '::', port: 1, family: 'IPv6' })
  Object.defineProperty(server, 'listening', { value: true })
  const failed = await startListener(t, {}, { server }).then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.match(String(failed instanceof Error && (failed.cause ?? failed)), 'set allowedHosts')
})

test('with TLS options clients are served over HTTPS', async (t) => {
  // a shared key needs no certificate
  const secret = { ciphers: 'PSK-AES256-GCM-SHA384', maxVersion: 'TLSv1.2' } as const
  const key = Buffer.alloc(32, 7)
  const listening = await startListener(t, {}, { tls: { ...secret, pskCallback: () => key } })
  assert.match(listening.url, /^https:\/\/127\.0\.0\.1:\d+\/mcp$/)
  const text = await new Promise<string>((resolve, reject) => {
    const agent = new https.Agent({
      ...secret,
      pskCallback: () => ({ psk: key, identity: 'test' }),
      checkServerIdentity: () => undefined,
    } as https.AgentOptions)
    t.after(() => agent.destroy())
    const sent = https.request(listening.url, { method: 'POST', agent, headers: goodHeaders }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve(body))
    })
    sent.on('error', reject)
    sent.end('{"jsonrpc":"2.0","id":1,"method":"ping"}')
  })
  assert.equal(JSON.parse(text), { jsonrpc: '2.0', id: 1, result: {} })
})

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

test.run()
