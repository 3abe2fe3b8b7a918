import { gzipSync } from 'node:zlib'
import * as assert from 'uvu/assert'
import { buildNotification, buildRequest } from 'caduceus/protocol'
import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import { http, type HttpOptions, sse } from 'caduceus/transports'
import { suite, type TestContext } from '../../../support/suite.js'
import { lost } from '../../_answers.js'
import { json, listen, polite, result, type Seen, stream } from '../../_http.js'
import { greetings } from '../../_http-link.js'
import { startLink } from '../../_link.js'

const test = suite('bodies that nobody wants, or that never end')

/** A session over two connections whose calls the test answers. */
async function begin(t: TestContext, onCall: (seen: Seen) => unknown, options: HttpOptions = {}) {
  const clock = createFakeClock()
  const server = await listen(t, polite(onCall))
  const transport = http(server.url, {
    stream: false,
    limits: { connections: 2 },
    sseFallback: false,
    ...options,
  })
  const link = await startLink(t, transport, clock)
  link.open(1)
  await greetings({ server, link })
  return { clock, link, server }
}

/** Lets time pass until the server has seen what it waits for. */
async function passUntil<T>(clock: FakeClock, wanted: Promise<T>): Promise<T> {
  let done = false
  const watched = wanted.finally(() => {
    done = true
  })
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.pending > 0) await clock.advance(500)
  }
  return watched
}

function neverEnds({ response }: Seen, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'text/html', 'content-length': '100', ...headers })
  response.write('<html>')
}

const unwanted: { readonly [What in string]: (seen: Seen) => unknown } = {
  'a page': (seen) => neverEnds(seen, 200),
  'a redirect': (seen) => neverEnds(seen, 307, { location: 'http://127.0.0.1:1/' }),
}

for (const [what, answer] of Object.entries(unwanted)) {
  test(`${what} without an end frees its connection after two seconds`, async (t) => {
    const { link, clock } = await begin(t, (seen) =>
      seen.message.method === 'ping' ? json(seen, result(seen, {})) : answer(seen),
    )
    const ids = [1, 2, 3, 4, 5]
    for (const id of ids) link.send(1, buildRequest(id, 'tools/call'))
    link.send(1, buildRequest(9, 'ping'))
    assert.is((await passUntil(clock, link.message())).id, 9)
    assert.ok(clock.now() >= 4_000 && clock.now() <= 20_000, `${clock.now()} ms`)
  })
}

test('a refusal with an endless body keeps its status, after two seconds', async (t) => {
  const { link, clock } = await begin(t, (seen) => neverEnds(seen, 503, { 'retry-after': '7' }))
  link.send(1, buildRequest(1, 'tools/call'))
  const { code, data, retryable } = await passUntil(clock, lost(link, 1))
  assert.equal(
    [code, data, retryable],
    ['HTTP_STATUS', { status: 503, error: undefined, retryAfter: '7' }, true],
  )
  assert.ok(clock.now() <= 20_000, `${clock.now()} ms`)
})

test('a refusal keeps its status, however long its body is or wherever it breaks', async (t) => {
  const { link } = await begin(t, (seen) => {
    seen.response.writeHead(500, { 'content-type': 'text/html', 'content-length': '1000000' })
    if (seen.message.id === 1) return seen.response.end('x'.repeat(1_000_000))
    return seen.response.write('<html>', () => seen.response.destroy())
  })
  for (const id of [1, 2]) {
    link.send(1, buildRequest(id, 'tools/call'))
    const { code, data, retryable } = await lost(link, id)
    assert.equal([code, (data as { status: number }).status, retryable], ['HTTP_STATUS', 500, true])
  }
})

test('a long 404 page for initialize still leads to a 2024-11-05 server', async (t) => {
  const page = '<html>'.padEnd(200_000, 'x')
  const server = await listen(t, (seen) => {
    if (seen.method === 'GET') return stream(seen).write('event: endpoint\ndata: /post\n\n')
    return seen.response.writeHead(404, { 'content-type': 'text/html' }).end(page)
  })
  const link = await startLink(t, http(server.url))
  link.open(1)
  await link.news.next(({ type }) => type === 'opened')
  link.send(1, buildRequest(0, 'initialize', {}))
  await server.seen.next(({ method }) => method === 'GET')
  assert.is((await server.seen.next()).message.method, 'initialize')
})

for (const type of ['application/json', 'text/event-stream']) {
  test(`a compressed ${type} is reported as such`, async (t) => {
    const { link } = await begin(t, (seen) => {
      const text = JSON.stringify(result(seen, {}))
      const body = gzipSync(type === 'application/json' ? text : `data: ${text}\n\n`)
      seen.response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(body)
    })
    link.send(1, buildRequest(1, 'tools/call'))
    assert.match((await lost(link, 1)).message, `answered with ${type} in gzip`)
  })
}

test('with an idle timeout, a silent JSON answer counts as broken', async (t) => {
  const { link, clock, server } = await begin(
    t,
    ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"jsonrpc":')
    },
    { idleTimeout: 1_000 },
  )
  link.send(1, buildRequest(1, 'tools/call'))
  const { response } = await server.seen.next(({ message }) => message.id === 1)
  const closed = new Promise((resolve) => response.once('close', resolve))
  const { code, message } = await passUntil(clock, lost(link, 1))
  assert.equal([code, message], ['CONNECTION_LOST', 'nothing came for 1000 ms'])
  await closed
})

test('a 2024-11-05 server with an endless acknowledgement delays the rest 2 s at most', async (t) => {
  const clock = createFakeClock()
  const server = await listen(t, (seen) => {
    if (seen.method === 'GET') return stream(seen).write('event: endpoint\ndata: /post\n\n')
    return neverEnds(seen, 202)
  })
  const link = await startLink(t, sse(server.url, { streamIdleTimeout: Number.POSITIVE_INFINITY }), clock)
  link.open(1)
  await link.news.next(({ type }) => type === 'opened')
  link.send(1, buildNotification('notifications/initialized'))
  link.send(1, buildRequest(1, 'tools/call'))
  await passUntil(
    clock,
    server.seen.next(({ message }) => message.id === 1),
  )
  assert.ok(clock.now() <= 3_000, `${clock.now()} ms`)
})

test.run()
