import * as assert from 'uvu/assert'
import { createFakeClock } from '../../runtime/fake-clock.js'
import { http } from '../../transports/http-client.js'
import { suite } from '../support/suite.js'
import { greetings, listen, polite, status, stream } from './_http.js'
import { startLink } from './_link.js'

const test = suite('http event stream')

test('the stream for news is opened after the handshake, heard, and opened again where it broke off', async (t) => {
  const clock = createFakeClock()
  const server = await listen(t, (seen) => {
    if (seen.method !== 'GET') return polite()(seen)
    const first = server.seen.all.filter(({ method }) => method === 'GET').length === 1
    const text = first ? 'retry: 7000\nid: 41\ndata: {"n":1}\n\n' : ': alive\n\ndata: {"n":2}\n\n'
    const response = stream(seen)
    response.write(text)
    if (first) response.end()
  })
  const link = await startLink(t, http(server.url), clock)
  link.open(1)
  await greetings({ server, link })
  const { headers } = await server.seen.next(({ method }) => method === 'GET')
  assert.is(headers.accept, 'text/event-stream')
  assert.is(headers['last-event-id'], undefined)
  assert.equal(await link.message(), { n: 1 })
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(6_999)
  assert.is(server.seen.all.filter(({ method }) => method === 'GET').length, 1)
  await clock.advance(1)
  const again = await server.seen.next(({ method }) => method === 'GET')
  assert.is(again.headers['last-event-id'], '41')
  assert.equal(await link.message(), { n: 2 })
})

test('a silent stream is opened again, and 404 on it ends the session', async (t) => {
  const clock = createFakeClock()
  let streams = 0
  const server = await listen(t, (seen) => {
    if (seen.method !== 'GET') return polite()(seen)
    streams += 1
    if (streams === 1) stream(seen)
    else status(seen, 404)
  })
  const link = await startLink(t, http(server.url, { streamIdleTimeout: 60_000 }), clock)
  link.open(1)
  await greetings({ server, link })
  const first = await server.seen.next(({ method }) => method === 'GET')
  const closed = new Promise((resolve) => first.response.once('close', resolve))
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(60_000)
  await closed
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(2_000)
  assert.is((await link.closed()).error?.code, 'SESSION_NOT_FOUND')
})

test('a stream that keeps failing is tried again ever more slowly, and never given up', async (t) => {
  const clock = createFakeClock()
  const times: number[] = []
  const server = await listen(t, (seen) => {
    if (seen.method !== 'GET') return polite()(seen)
    times.push(clock.now())
    status(seen, 503)
  })
  const link = await startLink(t, http(server.url), clock)
  link.open(1)
  await greetings({ server, link })
  for (let i = 0; i < 8; i++) {
    await server.seen.next(({ method }) => method === 'GET')
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(30_000)
  }
  assert.ok(times.length >= 8)
  assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 1_000)
})

test.run()
