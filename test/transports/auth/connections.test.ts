import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { type AuthOptions, type ServerTransport, serveSse, serveWebSocket } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { resource, startAuthorizationServer } from './_authorization-server.js'
import { greet, open, upgrade } from '../websocket/_websocket.js'

const test = suite('auth of connections', { timeout: 15_000 })

const whoami = defineTool({
  name: 'whoami',
  run: (_args, { principal, peer }) =>
    `${principal?.subject} ${Object.keys(peer.headers).includes('authorization')}`,
})

async function start(t: TestContext, serve: (options: { auth: AuthOptions }) => ServerTransport) {
  const issuer = await startAuthorizationServer(t)
  const auth = { resource, authorizationServers: [issuer.issuer], scopes: ['use'] }
  const definition = defineServer({ name: 'test', version: '1', tools: [whoami] })
  const server = await startServer(definition, { transport: serve({ auth }), logger: false })
  t.after(() => server.stop())
  const as = async (claims: object = { scope: 'use' }) => ({
    authorization: `Bearer ${await issuer.issue({ ...claims })}`,
  })
  return { server, as }
}

test('WebSocket: a token opens the socket, and tools see its principal', async (t) => {
  const { server, as } = await start(t, serveWebSocket)
  assert.is(await upgrade(server, {}), 401)
  assert.is(await upgrade(server, await as({ scope: 'use', exp: 1 })), 401)
  assert.is(await upgrade(server, await as({})), 403)
  assert.is(await upgrade(server, { authorization: 'Bearer' }), 400)
  const raw = await open(t, server, { headers: await as() })
  await greet(raw)
  raw.socket.send(
    JSON.stringify({ jsonrpc: '2.0', id: 'w', method: 'tools/call', params: { name: 'whoami' } }),
  )
  const { result } = await raw.messages.next(({ id }) => id === 'w')
  assert.is(result?.content?.[0]?.text, 'ada false')
})

test('HTTP+SSE: the stream and each message need a token', async (t) => {
  const { server, as } = await start(t, serveSse)
  const url = String(server.url)
  const get = (headers: Record<string, string>) => fetch(url, { headers, signal: t.signal })
  const refused = await get({})
  assert.is(refused.status, 401)
  assert.match(
    String(refused.headers.get('www-authenticate')),
    /^Bearer scope="use", resource_metadata="https:/,
  )
  assert.is((await get(await as({}))).status, 403)
  const stream = await get(await as())
  assert.is(stream.status, 200)
  const messages = new URL('/messages?sessionId=x', url)
  assert.is((await fetch(messages, { method: 'POST', body: '{}' })).status, 401)
  await stream.body?.cancel()
})

for (const [name, serve] of Object.entries({ serveSse, serveWebSocket }))
  test(`${name}: the metadata is at both places beside other paths`, async (t) => {
    const { server } = await start(t, serve)
    const origin = String(server.url).replace(/^ws/, 'http')
    const path = new URL(origin).pathname
    for (const place of ['', '/mcp', path]) {
      const found = await fetch(new URL(`/.well-known/oauth-protected-resource${place}`, origin))
      assert.is(((await found.json()) as { resource: string }).resource, resource)
    }
    assert.ok([404, 426].includes((await fetch(new URL('/else', origin))).status))
  })

test.run()
