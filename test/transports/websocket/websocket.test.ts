// second tier: time
// shares a process
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { createFakeClock, formatTree, inspect } from 'caduceus/runtime'
import { serveWebSocket, websocket } from 'caduceus/transports'
import { initialize, type Wire } from '../../server/_client.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { connected, inProcess, text, transportSuite } from '../_suite.js'
import { startSuiteServer } from '../_suite-server.js'
import { greet, listen, open, turn, upgrade } from './_websocket.js'

const everyTransport = transportSuite('WebSocket', (t) =>
  inProcess(t, { serve: ({ port = 0 }) => serveWebSocket({ port }), connect: (url) => websocket(url) }),
)
everyTransport.run()

const test = suite('websocket', { timeout: 15_000 })

test('the upgrade is guarded: Host, Origin, path and subprotocol', async (t) => {
  const server = await listen(t, { allowedOrigins: ['https://app.example'] })
  assert.is(await upgrade(server, {}), 101)
  assert.is(await upgrade(server, { origin: 'https://app.example' }), 101)
  assert.is(await upgrade(server, { host: 'evil.example' }), 403)
  assert.is(await upgrade(server, { host: `localhost.:${server.port}` }), 403)
  assert.is(await upgrade(server, { origin: 'https://evil.example' }), 403)
  assert.is(await upgrade(server, { origin: 'null' }), 403)
  assert.is(await upgrade(server, {}, '/other'), 404)
  assert.is(await upgrade(server, {}, '/mcp', ['graphql-ws']), 400)
  assert.is(await upgrade(server, {}, '/mcp', []), 400)
  assert.equal(await server.sessions(), [])
})

test('a plain request is answered 426, or 403 from a foreign origin', async (t) => {
  const server = await listen(t)
  const url = String(server.url).replace('ws:', 'http:')
  assert.is((await fetch(url)).status, 426)
  assert.is((await fetch(url, { headers: { origin: 'https://evil.example' } })).status, 403)
})

test('subprotocol mcp is echoed, and compression is not negotiated', async (t) => {
  const server = await listen(t)
  const { socket } = await open(t, server, { perMessageDeflate: true })
  assert.is(socket.protocol, 'mcp')
  assert.is(socket.extensions, '')
})

test('pings and pongs are not buffered as message parts', async (t) => {
  const server = await listen(t)
  const { socket } = await open(t, server)
  socket.send('{"jsonrpc"', { fin: false })
  for (let i = 0; i < 2_000; i++) socket.pong(Buffer.alloc(125))
  const answered = once(socket, 'pong')
  socket.ping(Buffer.alloc(125))
  await answered
  assert.match(formatTree(inspect(server)), / 0\.0 of \d+ MiB pending/)
})

test('what is no message is answered with an error, and the connection goes on', async (t) => {
  const socket = await open(t, await listen(t))
  await greet(socket)
  const bad: [string, number][] = [
    ['{', -32700],
    ['42', -32600],
    ['[]', -32600],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    [JSON.stringify({ jsonrpc: '1.0', id: 3, method: 'ping' }), -32600],
  ]
  for (const [sent, code] of bad) {
    socket.socket.send(sent)
    assert.is((await socket.messages.next()).error?.code, code, sent)
  }
  socket.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 4, method: 'ping' }))
  assert.is((await socket.messages.next()).id, 4)
})

test('a batch with initialize in it is refused as a whole', async (t) => {
  const socket = await open(t, await listen(t))
  await greet(socket, '2025-03-26')
  socket.socket.send(
    JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'ping' }, initialize('raw', '2025-03-26')]),
  )
  const { id, error } = await socket.messages.next()
  assert.equal([id, error?.code], [undefined, -32600])
})

test('a session that crashes too often ends its socket', async (t) => {
  const server = await listen(t)
  const socket = await open(t, server)
  await greet(socket)
  for (let n = 1; n <= 3; n++) {
    socket.socket.send(JSON.stringify({ jsonrpc: '2.0', id: n, method: 'ping' }))
    // a session that came back tells that lists may have changed
    assert.is((await socket.messages.next(({ id }) => id !== undefined)).id, n)
    const [session] = await server.sessions()
    session?.ref?.kill()
  }
  assert.is(await socket.closed, 1000)
})

test('before initialize only a ping is answered, and a second initialize is refused', async (t) => {
  const socket = await open(t, await listen(t))
  const ask = async (id: number, method: string) => {
    socket.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method }))
    return socket.messages.next((message) => message.id === id)
  }
  assert.equal((await ask(1, 'ping')).result, {})
  assert.is((await ask(2, 'tools/list')).error?.code, -32600)
  await greet(socket)
  assert.is((await ask(3, 'tools/list')).result?.tools?.length, 12)
  socket.socket.send(JSON.stringify(initialize('twice')))
  assert.ok((await socket.messages.next(({ id }) => id === 'init')).error !== undefined)
})

test('revision 2025-03-26 may send batches, whose answers come one by one', async (t) => {
  const { socket } = await open(t, await listen(t))
  const texts = heard<string>()
  socket.on('message', (data: Buffer) => texts.add(data.toString()))
  socket.send(JSON.stringify(initialize('old', '2025-03-26')))
  await texts.next()
  const batch = [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'count' } },
    { jsonrpc: '1.0', id: 3, method: 'ping' },
  ]
  socket.send(JSON.stringify(batch))
  const answers: Wire[] = []
  while (answers.length < 3) answers.push(JSON.parse(await texts.next()))
  assert.equal(answers.map(({ id }) => id).sort(), [1, 2, 3])
})

test('a client without a pong by the next ping ends with its session', async (t) => {
  const clock = createFakeClock()
  const server = await startSuiteServer(serveWebSocket(), { clock })
  t.after(() => server.stop())
  const dead = await open(t, server, { autoPong: false })
  const alive = await open(t, server)
  await Promise.all([greet(dead), greet(alive)])
  const pinged = (socket: WebSocket) => new Promise((resolve) => socket.once('ping', resolve))
  const both = Promise.all([pinged(dead.socket), pinged(alive.socket)])
  await clock.advance(30_000)
  await both
  alive.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  await alive.messages.next(({ id }) => id === 1)
  await clock.advance(30_000)
  assert.is(await dead.closed, 1006)
  while ((await server.sessions()).length > 1) await turn()
  assert.is(alive.socket.readyState, WebSocket.OPEN)
})

test('a reader that stops is cut off, and other sessions go on', async (t) => {
  const server = await listen(t, { limits: { bufferedBytes: 16 * 1024 }, pingInterval: 2_000 })
  const client = await connected(t, { connect: () => websocket(String(server.url)) })
  const lazy = await open(t, server)
  await greet(lazy)
  lazy.socket.pause()
  const big = { name: 'echo', arguments: { text: 'z'.repeat(1024 * 1024) } }
  for (let id = 0; id < 40; id++)
    lazy.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: big }))
  while ((await server.sessions()).length > 1) await turn()
  assert.is(await text(client, 'count'), '1')
})

test('connections beyond the limit are closed with 1013', async (t) => {
  const server = await listen(t, { limits: { connections: 1 } })
  const first = await open(t, server)
  const second = await open(t, server)
  assert.is(await second.closed, 1013)
  await greet(first)
})

test('a socket without a session is closed with 1008 after a while', async (t) => {
  const clock = createFakeClock()
  const server = await startSuiteServer(serveWebSocket(), { clock })
  t.after(() => server.stop())
  const idle = await open(t, server)
  await clock.advance(30_000)
  assert.is(await idle.closed, 1008)
})

test('the end of the server closes sockets with 1001', async (t) => {
  const server = await listen(t)
  const socket = await open(t, server)
  await greet(socket)
  await server.stop()
  assert.is(await socket.closed, 1001)
})

test.run()
