import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { serveSse, sse, TransportError } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { greet, initialized, listen as listenRaw, type Seen, status, stream } from '../../_http.js'
import { startLink } from '../../_link.js'

const test = suite('sse client', { timeout: 15_000 })

/** A server that a test answers for: `endpoint` is what its stream says first. */
async function connectRaw(
  t: TestContext,
  endpoint: (base: string) => string,
  onPost: (seen: Seen) => unknown,
) {
  const streams = heard<ReturnType<typeof stream>>()
  const server = await listenRaw(t, (seen) => {
    if (seen.method !== 'GET') return onPost(seen)
    const open = stream(seen)
    open.write(`event: endpoint\ndata: ${endpoint(new URL(server.url).origin)}\n\n`)
    streams.add(open)
  })
  const link = await startLink(t, sse(server.url, { headers: { 'x-secret': 'secret' } }))
  link.open(1)
  return { server, link, streams }
}

test('an endpoint is resolved against the address of the stream', async (t) => {
  for (const [endpoint, path] of [
    [() => 'post?a=1', '/post?a=1'],
    [() => '/deep/post', '/deep/post'],
    [(base: string) => `${base}/absolute`, '/absolute'],
  ] as const) {
    const paths = heard<string>()
    const { link } = await connectRaw(t, endpoint, (seen) => {
      paths.add(String(seen.response.req.url))
      status(seen, 202)
    })
    await link.news.next(({ type }) => type === 'opened')
    link.send(1, { jsonrpc: '2.0', id: 1, method: 'ping' })
    assert.is(await paths.next(), path)
  }
})

test('an endpoint on another origin is fatal and never contacted', async (t) => {
  let asked = 0
  const other = await listenRaw(t, (seen) => {
    asked += 1
    status(seen, 202)
  })
  for (const endpoint of [
    `${new URL(other.url).origin}/messages`,
    '//127.0.0.1:1/messages',
    'https://127.0.0.1/x',
  ]) {
    const { link } = await connectRaw(
      t,
      () => endpoint,
      () => {},
    )
    const { error, fatal } = await link.closed()
    assert.equal([error?.code, fatal], ['BAD_RESPONSE', true], endpoint)
  }
  assert.is(asked, 0)
})

test('a server that sends no endpoint is given up', async (t) => {
  const server = await listenRaw(t, (seen) => void stream(seen))
  const clock = createFakeClock()
  const link = await startLink(t, sse(server.url), clock)
  link.open(1)
  await server.seen.next()
  await clock.advance(10_000)
  const { error } = await link.closed()
  assert.equal([error?.code, error?.retryable], ['CONNECT_FAILED', true])
})

test('an ended or silent stream is a lost connection, a refused post a lost request', async (t) => {
  const { link, streams } = await connectRaw(
    t,
    () => '/post',
    (seen) => status(seen, 503),
  )
  await link.news.next(({ type }) => type === 'opened')
  link.send(1, { jsonrpc: '2.0', id: 1, method: 'ping' })
  const lost = await link.news.next(({ type }) => type === 'lost')
  assert.is(lost.type === 'lost' && lost.error.code, 'HTTP_STATUS')
  const open = await streams.next()
  open.end()
  const { error, fatal } = await link.closed()
  assert.equal([error?.code, error?.retryable, fatal], ['CONNECTION_LOST', true, false])
})

test('a session whose initialized is refused for now ends, to be retried', async (t) => {
  const { link } = await connectRaw(
    t,
    () => '/post',
    (seen) => status(seen, 503),
  )
  await link.news.next(({ type }) => type === 'opened')
  link.send(1, initialized)
  const { error, fatal } = await link.closed()
  assert.equal([error?.code, error?.retryable, fatal], ['HTTP_STATUS', true, false])
})

test('a 401, or a missing stream, is a fatal failure', async (t) => {
  const server = await listenRaw(t, (seen) => {
    const path = seen.response.req.url
    if (path === '/401') status(seen, 401)
    else if (path === '/404') status(seen, 404)
    else greet(seen)
  })
  for (const [path, code] of [
    ['/401', 'UNAUTHORIZED'],
    ['/404', 'HTTP_STATUS'],
    ['/json', 'BAD_RESPONSE'],
  ] as const) {
    const client = startClient({ transport: sse(new URL(path, server.url)), logger: false })
    t.after(() => client.close())
    const error = await client.ready().catch((thrown: unknown) => thrown as Error)
    assert.ok(
      error?.cause instanceof TransportError && error.cause.code === code,
      `${path}: ${String(error)}`,
    )
  }
})

test('a 401 to one message fails it alone; to all messages, the connection', async (t) => {
  let isShut = false
  const { link } = await connectRaw(
    t,
    () => '/post',
    (seen) => status(seen, isShut || seen.message.method === 'tools/call' ? 401 : 202),
  )
  await link.news.next(({ type }) => type === 'opened')
  link.send(1, { jsonrpc: '2.0', id: 1, method: 'tools/call' })
  const lost = await link.news.next(({ type }) => type === 'lost')
  assert.is(lost.type === 'lost' && lost.error.code, 'UNAUTHORIZED')
  isShut = true
  link.send(1, { jsonrpc: '2.0', id: 2, method: 'tools/call' })
  const { error, fatal } = await link.closed()
  assert.equal([error?.code, fatal], ['UNAUTHORIZED', true])
})

test('options are checked', () => {
  const bad: (() => unknown)[] = [
    () => sse('ws://127.0.0.1/sse'),
    () => sse('http://127.0.0.1/sse', { stream: true } as never),
    () => serveSse({ path: '/messages' }),
    () => serveSse({ host: '0.0.0.0' }),
    () => serveSse({ allowedHosts: 'all' } as never),
  ]
  for (const make of bad) {
    assert.throws(make, (error: unknown) => error instanceof TransportError && error.code === 'BAD_OPTION')
  }
})

test('a stream that speaks in time is kept, and a silent one is given up', async (t) => {
  const clock = createFakeClock()
  const streams = heard<ReturnType<typeof stream>>()
  const server = await listenRaw(t, (seen) => {
    const open = stream(seen)
    open.write('event: endpoint\ndata: /post\n\n')
    streams.add(open)
  })
  const link = await startLink(t, sse(server.url, { streamIdleTimeout: 1_000 }), clock)
  link.open(1)
  const open = await streams.next()
  await link.news.next(({ type }) => type === 'opened')
  for (let count = 0; count < 3; count++) {
    await clock.advance(600)
    open.write('data: {"jsonrpc":"2.0","method":"a"}\n\n')
    assert.is((await link.message()).method, 'a')
  }
  await clock.advance(999)
  assert.not.ok(link.news.all.some(({ type }) => type === 'closed'))
  await clock.advance(1)
  assert.match((await link.closed()).error?.message ?? '', 'nothing came for 1000 ms')
})

test.run()
