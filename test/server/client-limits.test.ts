import { connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { defineTool, type Server } from 'caduceus/server'
import { serveSse, serveWebSocket } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { upgrade } from '../transports/websocket/_websocket.js'
import { initialize, RawClient } from './_client.js'
import { as, byName } from './_principals.js'
import { count, startTestServer } from './_servers.js'

const test = suite('limits of one client', { timeout: 15_000 })

/** A client as a proxy on this machine would have it. */
function behindProxy(t: TestContext, { url }: Server, address: string): RawClient {
  const client = new RawClient(t, url)
  client.own = { 'x-forwarded-for': address }
  return client
}

test('an address at its session limit is refused until one ends; others are served', async (t) => {
  const http = { trustProxy: true }
  const server = await startTestServer(t, [count], { limits: { sessionsPerClient: 3 }, http })
  const opened: RawClient[] = []
  for (let n = 0; n < 3; n++) opened.push(await behindProxy(t, server, '203.0.113.1').open())
  const fourth = behindProxy(t, server, '203.0.113.1')
  const refused = await fourth.post(initialize())
  assert.equal([refused.status, refused.headers['retry-after']], [429, '10'])
  assert.is(await (await behindProxy(t, server, '203.0.113.2').open()).text('count'), '1')
  const [first] = opened
  assert.is(await first?.text('count'), '1', 'its other sessions go on')
  await first?.send('DELETE', undefined, first.headers())
  await fourth.open()
})

test('a message of millions of values is refused unread, and named', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const body = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"count","arguments":{"a":[${'{},'.repeat(5_000_000)}0]}}}`
  const { status, messages } = await client.send('POST', body, client.headers())
  assert.is(status, 400)
  assert.is(messages[0]?.id, 5)
  assert.match(messages[0]?.error?.message ?? '', /may have 250000 values: send less at a time/)
  assert.is(await client.text('count'), '1')
})

test('a user at their session limit limits no other, even at the same address', async (t) => {
  const server = await startTestServer(t, [count], {
    limits: { sessionsPerClient: 2 },
    http: { authenticate: byName },
  })
  const clientOf = (name: string) => {
    const client = new RawClient(t, server.url)
    client.own = as(name)
    return client
  }
  await clientOf('ada').open()
  await clientOf('ada').open()
  assert.is((await clientOf('ada').post(initialize())).status, 429)
  await clientOf('bob').open()
})

test('dead sessions count again once restored', async (t) => {
  const server = await startTestServer(t, [count], { limits: { sessionsPerClient: 1 } })
  const first = await new RawClient(t, server.url).open()
  server.registry.whereis(`test/session ${first.sessionId}`)?.kill()
  const second = await new RawClient(t, server.url).open()
  const refused = await first.tell('notifications/initialized')
  assert.equal([refused.status, refused.headers['retry-after']], [429, '10'])
  await second.send('DELETE', undefined, second.headers())
  assert.is(await first.text('count'), '1')
})

test('a session flood stops at the client limit; a full server evicts silent sessions', async (t) => {
  const server = await startTestServer(t, [count], {
    limits: { sessions: 50, sessionsPerClient: 20 },
    http: { trustProxy: true },
  })
  const flood = async (address: string): Promise<Record<string, number>> => {
    const statuses: Record<string, number> = {}
    for (let n = 0; n < 40; n++) {
      const { status, headers } = await behindProxy(t, server, address).post(initialize())
      if (status !== 200) assert.ok(Number(headers['retry-after']) > 0)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    return statuses
  }
  assert.equal(await flood('203.0.113.1'), { 200: 20, 429: 20 })
  assert.equal(await flood('203.0.113.2'), { 200: 20, 429: 20 })
  assert.equal(await flood('203.0.113.3'), { 200: 20, 429: 20 })
  assert.is((await server.sessions()).length, 50)
})

test('a client at its request limit gets 429 until one ends; others are served', async (t) => {
  const waiting = heard<() => void>()
  const wait = defineTool({
    name: 'wait',
    run: () => new Promise<string>((resolve) => waiting.add(() => resolve('waited'))),
  })
  const http = { trustProxy: true, limits: { requestsPerClient: 2 } }
  const server = await startTestServer(t, [count, wait], { http })
  const busy = await behindProxy(t, server, '203.0.113.1').open()
  const other = await behindProxy(t, server, '203.0.113.2').open()
  const stream = await busy.listen()
  const call = busy.text('wait')
  const answer = await waiting.next()
  const refused = await busy.tell('notifications/initialized')
  assert.equal([refused.status, refused.headers['retry-after']], [429, '1'])
  assert.is((await busy.listen()).status, 429)
  assert.is(await other.text('count'), '1')
  answer()
  assert.is(await call, 'waited')
  assert.is(await busy.text('count'), '1')
  stream.close()
})

test('a principal at its request limit gets 429 from every address', async (t) => {
  const http = { authenticate: byName, trustProxy: true, limits: { requestsPerClient: 1 } }
  const server = await startTestServer(t, [count], { http })
  const clientOf = (name: string, address: string) => {
    const client = behindProxy(t, server, address)
    client.own = { ...client.own, ...as(name) }
    return client
  }
  const ada = await clientOf('ada', '203.0.113.1').open()
  const stream = await ada.listen()
  assert.is((await clientOf('ada', '203.0.113.2').post(initialize())).status, 429)
  assert.is((await clientOf('bob', '203.0.113.2').post(initialize())).status, 200)
  stream.close()
})

test('connections of an address beyond its limit are closed, others are accepted', async (t) => {
  const server = await startTestServer(t, [count], { http: { limits: { connectionsPerClient: 2 } } })
  const idle = [await open(t, server, '127.0.0.1'), await open(t, server, '127.0.0.1')]
  const third = await open(t, server, '127.0.0.1')
  await third.closed
  assert.ok(idle.every(({ socket }) => !socket.closed))
  const other = await open(t, server, '127.0.0.2')
  other.socket.write('GET /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
  assert.match(String(await other.said), /^HTTP\/1\.1 403 /)
})

test('HTTP+SSE: a client at its stream limit gets 429, and others are served', async (t) => {
  const transport = serveSse({ trustProxy: true, limits: { connectionsPerClient: 1 } })
  const server = await startTestServer(t, [count], { transport })
  const get = async (address: string) => {
    const controller = new AbortController()
    t.after(() => controller.abort())
    const headers = { accept: 'text/event-stream', 'x-forwarded-for': address }
    const { status, headers: told } = await fetch(String(server.url), { headers, signal: controller.signal })
    return { status, retry: told.get('retry-after'), end: () => controller.abort() }
  }
  const first = await get('203.0.113.1')
  assert.is(first.status, 200)
  assert.equal(await get('203.0.113.1').then(({ status, retry }) => [status, retry]), [429, '10'])
  assert.is((await get('203.0.113.2')).status, 200)
  first.end()
  while ((await get('203.0.113.1')).status !== 200) await new Promise((resolve) => setImmediate(resolve))
})

test('WebSocket: a client at its socket limit gets 429, and others are served', async (t) => {
  const options = { trustProxy: true, limits: { connectionsPerClient: 1 }, authenticate: byName }
  const server = await startTestServer(t, [count], { transport: serveWebSocket(options) })
  const held = connect(Number(server.port), '127.0.0.1')
  t.after(() => held.destroy())
  const said = new Promise((resolve) => held.once('data', (chunk) => resolve(String(chunk))))
  held.write(
    'GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n',
  )
  assert.match(String(await said), /^HTTP\/1\.1 101 /)
  assert.is(await upgrade(server, { 'x-forwarded-for': '203.0.113.1' }), 429)
  assert.is(await upgrade(server, { 'x-forwarded-for': '203.0.113.2' }), 101)
})

test('wrong limits are refused at once', async (t) => {
  await assertRejects(
    startTestServer(t, [count], { limits: { sessionsPerClient: 0 } }),
    /limits\.sessionsPerClient/,
  )
  assert.throws(() => serveSse({ limits: { connectionsPerClient: 0.5 } }), /limits\.connectionsPerClient/)
  assert.throws(
    () => serveWebSocket({ limits: { connectionsPerClient: -1 } }),
    /limits\.connectionsPerClient/,
  )
})

async function assertRejects(promise: Promise<unknown>, pattern: RegExp): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.match(String(error), pattern)
}

/** A connection on which nothing is said yet. */
async function open(t: TestContext, { port }: Server, localAddress: string) {
  const socket: Socket = connect({ port: Number(port), host: '127.0.0.1', localAddress })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const said = new Promise<Buffer>((resolve) => socket.once('data', resolve))
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return { socket, closed, said }
}

test.run()
