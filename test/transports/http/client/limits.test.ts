import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { buildNotification, buildRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { http, type TransportError } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite } from '../../../support/suite.js'
import { json, listen, polite, result, type Seen, status, stream } from '../../_http.js'
import { connect, greetings } from '../../_http-link.js'
import { type LinkTree, startLink } from '../../_link.js'

const test = suite('http client limits', { timeout: 15_000 })

async function lost(link: LinkTree, id: number): Promise<TransportError> {
  const news = await link.news.next((one) => one.type === 'lost' && one.id === id)
  if (news.type !== 'lost') throw new Error('expected a loss')
  return news.error
}

/** Writes a hundred megabytes, as fast as they are read; answers how much the client took. */
async function pour(response: ServerResponse): Promise<number> {
  const socket = response.socket as Socket
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  const block = Buffer.alloc(1024 * 1024, 'x')
  for (let i = 0; i < 100 && !response.destroyed; i++) {
    if (!response.write(block))
      await Promise.race([closed, new Promise((resolve) => response.once('drain', resolve))])
  }
  await closed
  return socket.bytesWritten
}

/** A server that begins each answer with 600,000 characters and goes on when told to. */
async function halfAnswers(t: Parameters<typeof connect>[0], type: 'json' | 'sse') {
  const half = 'x'.repeat(600_000)
  const begun = heard<{ readonly seen: Seen; finish(): void }>()
  const cut = heard<unknown>()
  const limits = { limits: { messageBytes: 1_000_000, pendingBytes: 1_500_000 }, stream: false }
  const both = await connect(
    t,
    polite((seen) => {
      const { response } = seen
      response.once('close', () => {
        if (!response.writableEnded) cut.add(seen.message.id)
      })
      if (type === 'sse') stream(seen).write('data: ')
      else response.writeHead(200, { 'content-type': 'application/json' })
      const text = JSON.stringify(result(seen, { text: half }))
      response.write(text.slice(0, half.length))
      begun.add({
        seen,
        finish: () => response.end(text.slice(half.length) + (type === 'sse' ? '\n\n' : '')),
      })
    }),
    limits,
  )
  await greetings(both)
  return { link: both.link, begun, cut }
}

for (const type of ['json', 'sse'] as const) {
  test(`answers that are still coming have a bound together (${type})`, async (t) => {
    const { link, begun, cut } = await halfAnswers(t, type)
    for (const id of [1, 2, 3]) link.send(1, buildRequest(id, 'tools/call', {}))
    const news = await link.news.next((one) => one.type === 'lost' && one.id !== 0)
    if (news.type !== 'lost') throw new Error('expected a loss')
    assert.equal([news.error.code, news.error.retryable], ['BYTES_LIMIT', true])
    assert.match(news.error.message, /1500000 bytes together \(limits\.pendingBytes\)/)
    assert.is(await cut.next(), news.id)
    // the others have their answers
    const under = [await begun.next(), await begun.next(), await begun.next()]
    for (const { seen, finish } of under) if (seen.message.id !== news.id) finish()
    const ids = [(await link.message()).id, (await link.message()).id, news.id]
    assert.equal(ids.map(Number).toSorted(), [1, 2, 3])
  })

  test(`an answer that nobody waits for leaves room for others (${type})`, async (t) => {
    const { link, begun, cut } = await halfAnswers(t, type)
    for (let id = 1; id <= 6; id++) {
      link.send(1, buildRequest(id, 'tools/call', {}))
      await begun.next()
      link.send(1, buildNotification('notifications/cancelled', { requestId: id }))
      assert.is(await cut.next(), id)
    }
    for (const id of [7, 8]) link.send(1, buildRequest(id, 'tools/call', {}))
    for (const { finish } of [await begun.next(), await begun.next()]) finish()
    const ids = [(await link.message()).id, (await link.message()).id]
    assert.equal(ids.map(Number).toSorted(), [7, 8])
  })
}

test.slow('fault 61: a 100 MB result is cut off at the limit and fails that call only', async (t) => {
  const poured = heard<number>()
  const both = await connect(
    t,
    polite((seen) => {
      const kind = seen.message.params?.name
      if (kind === 'small') return json(seen, result(seen, {}))
      if (kind === 'sse') stream(seen).write('data: ')
      else seen.response.writeHead(200, { 'content-type': 'application/json' })
      void pour(seen.response).then(poured.add)
    }),
  )
  await greetings(both)
  const { link } = both
  const before = process.memoryUsage().rss
  for (const [id, name] of [
    [1, 'json'],
    [2, 'sse'],
  ] as const) {
    link.send(1, buildRequest(id, 'tools/call', { name }))
    const error = await lost(link, id)
    assert.is(error.code, 'MESSAGE_TOO_LONG')
    // what lies in the buffers of both sockets comes on top of the limit
    assert.ok((await poured.next()) < 32 * 1024 * 1024)
  }
  link.send(1, buildRequest(3, 'tools/call', { name: 'small' }))
  assert.is((await link.message()).id, 3)
  assert.ok(process.memoryUsage().rss - before < 150 * 1024 * 1024)
})

test.slow('a result of 20 MB arrives where the limit allows it', async (t) => {
  const server = await listen(
    t,
    polite((seen) =>
      json(seen, result(seen, { content: [{ type: 'text', text: 'x'.repeat(20 * 1024 * 1024) }] })),
    ),
  )
  const options = { limits: { messageBytes: 24 * 1024 * 1024 }, stream: false }
  const client = startClient({ transport: http(server.url, options), logger: false })
  t.after(() => client.close())
  assert.is((await client.callTool('big')).text.length, 20 * 1024 * 1024)
})

test('with a response timeout, a late response loses its request', async (t) => {
  const clock = createFakeClock()
  const server = await listen(
    t,
    polite((seen) => (seen.message.id === 2 ? json(seen, result(seen, {})) : undefined)),
  )
  const link = await startLink(t, http(server.url, { headersTimeout: 1_000, stream: false }), clock)
  link.open(1)
  await greetings({ server, link })
  link.send(1, buildRequest(1, 'tools/call'))
  const { response } = await server.seen.next(({ message }) => message.id === 1)
  const closed = new Promise((resolve) => response.once('close', resolve))
  await clock.advance(1_000)
  const error = await lost(link, 1)
  assert.equal([error.code, error.retryable], ['CONNECTION_LOST', true])
  assert.match(error.message, 'within 1000 ms')
  await closed
  link.send(1, buildRequest(2, 'ping'))
  assert.is((await link.message()).id, 2)
})

test('with an idle timeout, a silent response breaks and resumes where it can', async (t) => {
  const clock = createFakeClock()
  let asked: Seen | undefined
  const server = await listen(t, (seen) => {
    if (seen.method === 'GET' && asked) stream(seen).end(`data: ${JSON.stringify(result(asked, {}))}\n\n`)
    else
      polite((call) => {
        asked = call
        stream(call).write(
          call.message.id === 1
            ? 'data: {"jsonrpc":"2.0","method":"a"}\n\n'
            : 'id: 1\ndata: {"jsonrpc":"2.0","method":"a"}\n\n',
        )
      })(seen)
  })
  const link = await startLink(t, http(server.url, { idleTimeout: 1_000, stream: false }), clock)
  link.open(1)
  await greetings({ server, link })
  for (const id of [1, 2]) {
    link.send(1, buildRequest(id, 'tools/call'))
    assert.is((await link.message()).method, 'a')
    await clock.advance(1_000)
    if (id === 1) {
      assert.match((await lost(link, 1)).message, 'nothing came for 1000 ms')
      continue
    }
    const answer = link.message()
    while (server.seen.all.at(-1)?.method !== 'GET') {
      await new Promise((resolve) => setImmediate(resolve))
      if (clock.pending > 0) await clock.advance(500)
    }
    assert.is((await answer).id, 2)
  }
})

test('calls queue for a connection, excess streams fail, and neither blocks the other', async (t) => {
  const both = await connect(
    t,
    (seen) => {
      if (seen.method === 'GET') return void stream(seen)
      if (seen.message.method === 'subscriptions/listen') return void stream(seen)
      if (seen.message.method === 'hang') return
      polite((call) => json(call, result(call, {})))(seen)
    },
    { limits: { connections: 1, streams: 2 } },
  )
  await greetings(both)
  const { link, server } = both
  await server.seen.next(({ method }) => method === 'GET')
  link.send(1, buildRequest(1, 'subscriptions/listen'))
  await server.seen.next(({ message }) => message.id === 1)
  link.send(1, buildRequest(2, 'subscriptions/listen'))
  const error = await lost(link, 2)
  assert.equal([error.code, error.retryable], ['SEND_FAILED', true])
  link.send(1, buildRequest(3, 'ping'))
  assert.is((await link.message()).id, 3)
})

test('a hundred calls share few keep-alive connections', async (t) => {
  const sockets = new Set<Socket>()
  const server = await listen(
    t,
    polite((seen) => json(seen, result(seen, { content: [] }))),
  )
  server.server.on('connection', (socket) => sockets.add(socket))
  const client = startClient({ transport: http(server.url, { limits: { connections: 4 } }), logger: false })
  t.after(() => client.close())
  await client.ready()
  await Promise.all(Array.from({ length: 100 }, () => client.callTool('x')))
  for (let i = 0; i < 20; i++) await client.callTool('x')
  // four for calls, and those of the handshake's notification and of the stream
  assert.ok(sockets.size <= 6, `${sockets.size} connections`)
})

test('one hanging call of 200 delays no other, no ping and no cancellation', async (t) => {
  const gone = heard<number>()
  const server = await listen(
    t,
    polite((seen) => {
      if (seen.message.params?.name !== 'hang') return json(seen, result(seen, { content: [] }))
      seen.response.once('close', () => gone.add(1))
    }),
  )
  const client = startClient({ transport: http(server.url, { limits: { connections: 8 } }), logger: false })
  t.after(() => client.close())
  await client.ready()
  const controller = new AbortController()
  const hanging = client.callTool('hang', {}, { signal: controller.signal }).catch((error: unknown) => error)
  await Promise.all(Array.from({ length: 199 }, () => client.callTool('x')))
  await client.ping()
  controller.abort()
  assert.is(((await hanging) as { code: string }).code, 'CANCELLED')
  await gone.next()
})

test('fault 29: 502, 429 and a proxy page fail that call only, as what they are', async (t) => {
  const both = await connect(
    t,
    polite((seen) => {
      const { id, response } = { id: seen.message.id, response: seen.response }
      if (id === 1) response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>')
      else if (id === 2) status(seen, 429, { 'retry-after': '7' })
      else if (id === 3) response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>')
      else json(seen, result(seen, {}))
    }),
  )
  await greetings(both)
  const { link } = both
  const facts: unknown[] = []
  for (const id of [1, 2, 3]) {
    link.send(1, buildRequest(id, 'tools/call'))
    const { code, retryable, data } = await lost(link, id)
    facts.push([code, retryable, (data as { retryAfter?: string } | undefined)?.retryAfter])
  }
  assert.equal(facts, [
    ['HTTP_STATUS', true, undefined],
    ['HTTP_STATUS', true, '7'],
    ['CONNECTION_LOST', true, undefined],
  ])
  link.send(1, buildRequest(4, 'ping'))
  assert.is((await link.message()).id, 4)
})

test('fault 29: 401 in the middle of a session ends it for good', async (t) => {
  const both = await connect(
    t,
    polite((seen) => status(seen, 401, { 'www-authenticate': 'Bearer error="invalid_token"' })),
  )
  await greetings(both)
  both.link.send(1, buildRequest(1, 'tools/call'))
  const { error, fatal } = await both.link.closed()
  assert.equal([error?.code, fatal], ['UNAUTHORIZED', true])
})

test('fault 29: a proxy that buffers to the end delays messages and loses none', async (t) => {
  const { link } = await connect(t, (seen) => {
    const progress = buildNotification('notifications/progress', { progressToken: 1, progress: 1 })
    const text = `: alive\n\ndata: ${JSON.stringify(progress)}\n\ndata: ${JSON.stringify(result(seen, {}))}\n\n`
    seen.response
      .writeHead(200, { 'content-type': 'text/event-stream', 'content-length': String(text.length) })
      .end(text)
  })
  link.send(1, buildRequest(1, 'tools/call'))
  assert.is((await link.message()).method, 'notifications/progress')
  assert.is((await link.message()).id, 1)
})

test.run()
