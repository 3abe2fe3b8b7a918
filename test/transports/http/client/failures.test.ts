import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import * as assert from 'uvu/assert'
import { buildNotification, buildRequest, buildResult } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { http, type TransportError } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { end, greet, initialized, json, polite, result, status, stream, type Seen } from '../../_http.js'
import { connect, greetings } from '../../_http-link.js'
import { type LinkTree, startLink } from '../../_link.js'

const test = suite('http client failures')

/** The next loss of a request that is not yet answered. */
async function lost(link: LinkTree, id: number): Promise<TransportError> {
  const news = await link.news.next((one) => one.type === 'lost' && one.id === id)
  if (news.type !== 'lost') throw new Error('expected a loss')
  return news.error
}

test('a stream that ends, or breaks, without the answer loses the request at once', async (t) => {
  const { link } = await connect(t, (seen) => {
    const response = stream(seen)
    response.write('data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\ndata: {"jsonrpc"')
    if (seen.message.id === 1) response.end()
    else setImmediate(() => response.destroy())
  })
  link.send(1, buildRequest(1, 'tools/call'))
  assert.is((await link.message()).method, 'notifications/progress')
  assert.is((await lost(link, 1)).code, 'CONNECTION_LOST')
  link.send(1, buildRequest(2, 'tools/call'))
  assert.is((await lost(link, 2)).code, 'CONNECTION_LOST')
})

test('a connection dropped before the response loses the request, not the session', async (t) => {
  const both = await connect(
    t,
    polite((seen) => (seen.message.id === 1 ? seen.response.destroy() : json(seen, result(seen, {})))),
  )
  await greetings(both)
  both.link.send(1, buildRequest(1, 'tools/call'))
  const error = await lost(both.link, 1)
  assert.is(error.code, 'CONNECTION_LOST')
  assert.is(error.retryable, true)
  both.link.send(1, buildRequest(2, 'ping'))
  assert.is((await both.link.message()).id, 2)
})

test('a connection reset while connecting means the request was unsent', async (t) => {
  const { server, link } = await connect(t, polite())
  // Between the connect of the client and the accept of the server: the kernel answers with a reset.
  const onSocket = (): void => process.nextTick(() => process.nextTick(() => server.server.close()))
  subscribe('net.client.socket', onSocket)
  t.after(() => unsubscribe('net.client.socket', onSocket))
  link.send(1, buildRequest(1, 'tools/call'))
  const error = await lost(link, 1)
  assert.equal([error.code, error.retryable], ['CONNECT_FAILED', true])
  assert.match(error.message, 'connect ECONNRESET')
})

test('404 with a session ends the connection, to be retried', async (t) => {
  const both = await connect(
    t,
    polite((seen) => json(seen, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'x' } }, 404)),
  )
  await greetings(both)
  both.link.send(1, buildRequest(1, 'ping'))
  const { error, fatal } = await both.link.closed()
  assert.is(error?.code, 'SESSION_NOT_FOUND')
  assert.is(fatal, false)
})

test('404 without a session, and other refusals, lose one request', async (t) => {
  const refuse = (seen: Seen) => status(seen, Number(seen.message.params?.status), { 'retry-after': '3' })
  const { link } = await connect(t, refuse, { sseFallback: false })
  for (const [id, code, retryable] of [
    [1, 404, false],
    [2, 403, false],
    [3, 429, true],
    [4, 503, true],
    [5, 302, false],
  ] as const) {
    link.send(1, buildRequest(id, 'initialize', { status: code }))
    const error = await lost(link, id)
    assert.is(error.code, 'HTTP_STATUS')
    assert.is(error.retryable, retryable)
    assert.equal(error.data, { status: code, error: undefined, retryAfter: '3' })
  }
})

test('a JSON-RPC error in a refusal is the answer if it names the request', async (t) => {
  const { link } = await connect(t, (seen) => {
    const error = { code: -32602, message: 'no such tool' }
    json(seen, { jsonrpc: '2.0', ...(seen.message.id === 1 ? { id: 1 } : {}), error }, 400)
  })
  link.send(1, buildRequest(1, 'tools/call'))
  assert.equal(await link.message(), {
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32602, message: 'no such tool' },
  })
  link.send(1, buildRequest(2, 'tools/call'))
  const error = await lost(link, 2)
  assert.match(error.message, 'status 400: no such tool')
})

test('a plain text refusal is quoted by its first line, a page is not', async (t) => {
  const bodies = ['PayloadTooLargeError: too large\nat raw-body', '<html>oops</html>', 'x'.repeat(5_000), '']
  const { link } = await connect(t, ({ message, response }) => {
    response.writeHead(422, { 'content-type': 'text/plain' }).end(bodies[Number(message.id)])
  })
  const words = [': PayloadTooLargeError: too large', '', `: ${'x'.repeat(200)}`, '']
  for (const [id, told] of words.entries()) {
    link.send(1, buildRequest(id, 'initialize'))
    const { message } = await lost(link, id)
    assert.is(message.slice(message.indexOf('status')), `status 422${told}`)
  }
})

test('401 is a fatal failure', async (t) => {
  const { link } = await connect(t, (seen) => status(seen, 401, { 'www-authenticate': 'Bearer' }))
  link.send(1, buildRequest(1, 'initialize'))
  const { error, fatal } = await link.closed()
  assert.is(error?.code, 'UNAUTHORIZED')
  assert.match(error?.message ?? '', 'give a token, or oauth(), with the option auth')
  assert.equal(error?.data, { status: 401, challenge: 'Bearer' })
  assert.is(fatal, true)
})

test('an absent server fails initialize, and later requests fail as unsent', async (t) => {
  const both = await connect(t, polite())
  await greetings(both)
  await end(both.server.server)
  both.link.send(1, buildRequest(1, 'ping'))
  const error = await lost(both.link, 1)
  assert.is(error.code, 'CONNECT_FAILED')
  assert.match(error.message, /ECONNREFUSED/)
  both.link.open(2)
  both.link.send(2, buildRequest(2, 'initialize'))
  const closed = await both.link.news.next((one) => one.type === 'closed' && one.link === 2)
  assert.is(closed.type === 'closed' && closed.end.error?.code, 'CONNECT_FAILED')
})

test('a certificate that cannot be trusted is fatal', async (t) => {
  const { createServer } = await import('node:tls')
  const server = createServer({ SNICallback: (_, done) => done(new Error('no certificate')) })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => server.close(resolve)))
  const link = await startLink(t, http(`https://127.0.0.1:${(server.address() as { port: number }).port}/`))
  link.open(1)
  link.send(1, buildRequest(1, 'initialize'))
  const { error, fatal } = await link.closed()
  assert.is(error?.code, 'CONNECT_FAILED')
  assert.is(fatal, true)
})

test('a refused notification is reported as trouble only', async (t) => {
  const { link } = await connect(t, (seen) => status(seen, seen.message.id === undefined ? 500 : 200))
  link.send(1, buildNotification('notifications/cancelled', { requestId: 9 }))
  const trouble = await link.news.next(({ type }) => type === 'trouble')
  assert.is(trouble.type === 'trouble' && trouble.error.code, 'HTTP_STATUS')
})

test('initialized, and an answer, are sent again to a server that is busy', async (t) => {
  const refused = new Set<unknown>()
  const both = await connect(t, (seen) => {
    const { message } = seen
    const isNotice = message.method === initialized.method || (seen.method === 'POST' && !message.method)
    if (!isNotice || refused.has(message.method)) return polite((rest) => json(rest, result(rest, {})))(seen)
    refused.add(message.method)
    status(seen, 503, { 'retry-after': '1' })
  })
  const { server, link } = both
  await greetings(both)
  await server.seen.next(({ message }) => message.method === initialized.method)
  link.send(1, buildResult('q', {}))
  for (const _ of ['refused', 'taken']) await server.seen.next(({ message }) => `${message.id}` === 'q')
  link.send(1, buildRequest(1, 'ping'))
  assert.is((await link.message()).id, 1)
})

test('a session whose initialized is never taken ends, to be retried', async (t) => {
  const clock = createFakeClock()
  const refuse = (seen: Seen) =>
    seen.message.method === initialized.method ? status(seen, 503) : polite()(seen)
  const both = await connect(t, refuse, {}, clock)
  await greetings(both)
  for (const delay of [250, 500, 1_000, 2_000, 4_000]) {
    await both.link.news.next(({ type }) => type === 'trouble')
    await clock.advance(delay)
  }
  const { error } = await both.link.closed()
  assert.equal([error?.code, error?.retryable], ['HTTP_STATUS', true])
  assert.is(both.server.seen.all.filter(({ message }) => message.method === initialized.method).length, 6)
})

test('messages up to the limit arrive, longer ones lose the request', async (t) => {
  const { link } = await connect(
    t,
    (seen) => {
      const value = result(seen, { text: 'x'.repeat(Number(seen.message.params?.length)) })
      if (seen.message.params?.sse !== true) return json(seen, value)
      stream(seen).end(`data: ${JSON.stringify(value)}\n\n`)
    },
    { limits: { messageBytes: 200_000 } },
  )
  link.send(1, buildRequest(1, 'a', { length: 190_000 }))
  assert.is((await link.message()).id, 1)
  link.send(1, buildRequest(2, 'a', { length: 300_000 }))
  assert.is((await lost(link, 2)).code, 'MESSAGE_TOO_LONG')
  link.send(1, buildRequest(3, 'a', { length: 300_000, sse: true }))
  assert.is((await lost(link, 3)).code, 'MESSAGE_TOO_LONG')
})

test('a session id beyond visible ASCII is refused', async (t) => {
  const { link } = await connect(t, (seen) => greet(seen, 'a b'))
  link.send(1, buildRequest(1, 'initialize'))
  assert.is((await lost(link, 1)).code, 'BAD_RESPONSE')
})

test.run()
