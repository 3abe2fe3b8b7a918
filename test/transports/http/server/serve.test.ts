import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { type Answer, initialize, RawClient } from '../../../server/_client.js'
import { count, echo, killAndWait, startTestServer } from '../../../server/_servers.js'
import { suite, type TestContext } from '../../../support/suite.js'

const test = suite('http listener')
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const json = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

type Case = {
  readonly what: string
  readonly method?: string
  readonly path?: string
  readonly body?: string | Buffer
  readonly headers?: Record<string, string>
  readonly session?: boolean
  readonly status: number
  /** The code in the JSON-RPC error, and its id. */
  readonly code?: number
  readonly id?: number | string
  readonly allow?: string
}

const cases: readonly Case[] = [
  { what: 'a good request', status: 200 },
  {
    what: 'a charset in the type',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    status: 200,
  },
  { what: 'Accept with wildcards', headers: { accept: '*/*' }, status: 200 },
  { what: 'a revision that is named', headers: { 'mcp-protocol-version': '2025-11-25' }, status: 200 },
  { what: 'a notification', body: '{"jsonrpc":"2.0","method":"notifications/initialized"}', status: 202 },
  {
    what: 'an unknown notification',
    body: '{"jsonrpc":"2.0","method":"notifications/nothing"}',
    status: 202,
  },
  { what: 'a response nobody asked for', body: '{"jsonrpc":"2.0","id":9,"result":{}}', status: 202 },
  { what: 'another path', path: '/other', status: 404, code: -32600 },
  { what: 'a query', path: '/mcp?x=1', status: 200 },
  { what: 'PUT', method: 'PUT', status: 405, allow: 'POST, GET, DELETE' },
  { what: 'OPTIONS', method: 'OPTIONS', status: 405, allow: 'POST, GET, DELETE' },
  { what: 'a foreign host', headers: { host: 'evil.example' }, status: 403 },
  { what: 'a foreign origin', headers: { origin: 'http://evil.example' }, status: 403 },
  { what: 'no type', headers: { 'content-type': '' }, status: 415 },
  { what: 'another type', headers: { 'content-type': 'application/jsonx' }, status: 415 },
  { what: 'a compressed body', headers: { 'content-encoding': 'gzip' }, status: 415 },
  { what: 'Accept without event streams', headers: { accept: 'application/json' }, status: 406 },
  {
    what: 'Accept with a type switched off',
    headers: { accept: 'application/json, text/event-stream;q=0' },
    status: 406,
  },
  { what: 'no JSON', body: '{"jsonrpc"', status: 400, code: -32700 },
  { what: 'no UTF-8', body: Buffer.from([0x22, 0xff, 0x22]), status: 400, code: -32700 },
  { what: 'no body', body: '', status: 400, code: -32700 },
  { what: 'no message', body: '{"hello":1}', status: 400, code: -32600 },
  {
    what: 'an id that is none',
    body: '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    status: 400,
    code: -32600,
  },
  {
    what: 'a broken request with an id',
    body: '{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}',
    status: 400,
    code: -32600,
    id: 4,
  },
  { what: 'a batch', body: `[${JSON.stringify(ping)}]`, status: 400, code: -32600 },
  { what: 'an empty batch', body: '[]', status: 400, code: -32600 },
  {
    what: 'nesting without end',
    body: `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
    status: 400,
    code: -32600,
  },
  { what: 'a body over the limit', body: ' '.repeat(50_001), status: 413 },
  { what: 'a body far over the limit', body: ' '.repeat(5_000_000), status: 413 },
  {
    what: 'an unknown revision',
    headers: { 'mcp-protocol-version': '1900-01-01' },
    status: 400,
    code: -32600,
  },
  { what: 'no session', session: false, status: 400, code: -32600 },
  { what: 'an unknown session', headers: { 'mcp-session-id': 'nobody' }, status: 404, code: -32600 },
  {
    what: 'initialize in a session',
    body: JSON.stringify(initialize()),
    status: 400,
    code: -32600,
    id: 'init',
  },
  {
    what: 'initialize without params',
    session: false,
    body: '{"jsonrpc":"2.0","id":"i","method":"initialize"}',
    status: 200,
    code: -32602,
    id: 'i',
  },
  { what: 'GET without a session', method: 'GET', session: false, status: 400 },
  {
    what: 'GET that takes no event stream',
    method: 'GET',
    headers: { accept: 'application/json' },
    status: 406,
  },
  {
    what: 'GET with an unknown session',
    method: 'GET',
    headers: { 'mcp-session-id': 'nobody' },
    status: 404,
  },
  { what: 'DELETE without a session', method: 'DELETE', session: false, status: 400 },
  {
    what: 'DELETE with an unknown session',
    method: 'DELETE',
    headers: { 'mcp-session-id': 'nobody' },
    status: 404,
  },
]

for (const { what, status, code, id, allow, ...request } of cases) {
  test(`${what} is answered ${status}`, async (t) => {
    const server = await startTestServer(t, [], { http: { limits: { messageBytes: 50_000 } } })
    const answer = await send(t, server.url, request)
    assert.is(answer.status, status, answer.body)
    if (allow !== undefined) assert.is(answer.headers.allow, allow)
    if (code !== undefined)
      assert.equal([answer.messages[0]?.error?.code, answer.messages[0]?.id], [code, id])
    if (status === 202) assert.is(answer.body, '')
  })
}

async function send(
  t: TestContext,
  url: string | undefined,
  { method = 'POST', path, body, headers = {}, session = true }: Omit<Case, 'what' | 'status'>,
): Promise<Answer> {
  const client = new RawClient(t, url)
  if (session) await client.open()
  const sessionHeader = client.sessionId === undefined ? {} : { 'mcp-session-id': client.sessionId }
  if (path !== undefined) client.url.search = path.slice(path.indexOf('?') + 1 || path.length)
  if (path !== undefined) client.url.pathname = path.split('?')[0] ?? ''
  const content = method === 'POST' ? (body ?? JSON.stringify(ping)) : undefined
  return client.send(method, content, { ...json, ...sessionHeader, ...headers })
}

test('two Host headers are refused', async (t) => {
  const server = await startTestServer(t, [])
  const text = await raw(
    server.port,
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
  )
  assert.match(text, /^HTTP\/1\.1 403 /)
})

test('DELETE ends the session and its streams: 404 from then on', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const stream = await client.listen()
  const { status, body } = await client.send('DELETE', undefined, client.headers())
  assert.equal({ status, body }, { status: 204, body: '' })
  await stream.ended
  assert.is((await client.post(ping)).status, 404)
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 404)
  assert.is((await client.listen()).status, 404)
})

test('a session known only to the store can be ended', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  await killAndWait(server, 'test/base')
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is((await client.post(ping)).status, 404)
})

test('list changes are sent once, on one of the streams', async (t) => {
  const server = await startTestServer(t, [count])
  const [client, other] = await Promise.all([
    new RawClient(t, server.url).open(),
    new RawClient(t, server.url).open(),
  ])
  const streams = await Promise.all([client.listen(), client.listen()])
  const foreign = await other.listen()
  await Promise.all([server.addTool(echo), server.removeTool('count')])
  const first = await Promise.race(streams.map((stream) => stream.next()))
  assert.equal(first, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  assert.is((await foreign.next()).method, 'notifications/tools/list_changed')
  assert.equal(await client.list(), ['echo'])
  const extra: unknown[] = []
  for (const stream of streams)
    stream.next().then(
      (message) => extra.push(message),
      () => {},
    )
  await client.ask('ping')
  for (const stream of [...streams, foreign]) stream.close()
  assert.is(extra.length, 0)
})

test('a change without a reader is sent to the next one', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  await server.addTool(echo)
  const stream = await client.listen()
  assert.is((await stream.next()).method, 'notifications/tools/list_changed')
  stream.close()
})

test('a quiet stream is kept open by comments', async (t) => {
  const server = await startTestServer(t, [], { http: { streams: { commentInterval: 10 } } })
  const client = await new RawClient(t, server.url).open()
  const stream = await client.listen()
  while (stream.comments() < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  stream.close()
})

test('a client that sends its headers or body too slowly is answered 408 and cut off', async (t) => {
  const server = await startTestServer(t, [], { http: { timeouts: { headers: 50, body: 100 } } })
  const headers = raw(server.port, 'POST /mcp HTTP/1.1\r\nHost: localhost\r\n')
  const body = raw(
    server.port,
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  assert.match(await headers, /^HTTP\/1\.1 408 /)
  assert.match(await body, /^HTTP\/1\.1 408 /)
})

test('a body that is cut off affects no other', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const socket = connect(Number(server.port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    () => socket.resetAndDestroy(),
  )
  await new Promise((resolve) => socket.once('close', resolve))
  assert.is(await client.text('count'), '1')
})

test('sessions beyond the limit get 503 with Retry-After', async (t) => {
  const server = await startTestServer(t, [], { limits: { sessions: 2 } })
  const [first] = await Promise.all([
    new RawClient(t, server.url).open(),
    new RawClient(t, server.url).open(),
  ])
  const refused = await new RawClient(t, server.url).post(initialize())
  assert.equal([refused.status, refused.headers['retry-after']], [503, '10'])
  await first?.send('DELETE', undefined, first.headers())
  await new RawClient(t, server.url).open()
})

/** Sends bytes as they are and reads until the server closes. */
function raw(port: number | undefined, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

test.run()
