import * as assert from 'uvu/assert'
import { buildRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { http } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { untilDone } from '../../_answers.js'
import { json, listen, polite, result, status, stream } from '../../_http.js'
import { greetings } from '../../_http-link.js'
import { startLink } from '../../_link.js'

const test = suite('http event stream')

test('the GET stream opens after the handshake and reopens where it broke', async (t) => {
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

test('a silent stream is reopened, and 404 on it ends the session', async (t) => {
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
  await untilDone(clock, closed)
  assert.ok(clock.now() >= 60_000)
  assert.is((await untilDone(clock, link.closed())).error?.code, 'SESSION_NOT_FOUND')
})

test('a failing stream is retried with backoff and never given up', async (t) => {
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
  for (let i = 0; i < 8; i++)
    await untilDone(
      clock,
      server.seen.next(({ method }) => method === 'GET'),
    )
  assert.ok(times.length >= 8)
  assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 1_000)
})

test('404 for the first GET stream means a server without streams and ends nothing', async (t) => {
  const server = await listen(t, (seen) => {
    if (seen.method === 'GET') status(seen, 404)
    else polite((call) => json(call, result(call, {})))(seen)
  })
  const link = await startLink(t, http(server.url))
  link.open(1)
  await greetings({ server, link })
  await server.seen.next(({ method }) => method === 'GET')
  link.send(1, buildRequest(1, 'ping'))
  assert.is((await link.message()).id, 1)
})

test('a server that refuses Last-Event-ID is asked for a new stream, with a warning', async (t) => {
  const clock = createFakeClock()
  let streams = 0
  const server = await listen(t, (seen) => {
    if (seen.method !== 'GET') return polite()(seen)
    streams += 1
    if (streams === 1) stream(seen).end('id: 1\ndata: {"n":1}\n\n')
    else if (seen.headers['last-event-id'] !== undefined) status(seen, 400)
    else stream(seen).write('data: {"n":2}\n\n')
  })
  const link = await startLink(t, http(server.url), clock)
  link.open(1)
  await greetings({ server, link })
  assert.equal(await link.message(), { n: 1 })
  const again = link.message()
  const trouble = link.news.all.find(({ type }) => type === 'trouble')
  assert.is(trouble, undefined)
  while (streams < 3) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.pending > 0) await clock.advance(1_000)
  }
  assert.equal(await again, { n: 2 })
  const told = link.news.all.find(({ type }) => type === 'trouble')
  assert.ok(told?.type === 'trouble' && told.error.message.includes('400'))
})

const ids: readonly (readonly [string, string | undefined])[] = [
  ['größer', 'größer'],
  ['日本', Buffer.from('日本').toString('latin1')],
  ['a\tb c', 'a\tb c'],
  ['a\x01b', undefined],
  ['x'.repeat(20_000), undefined],
]

for (const [id, header] of ids) {
  test(`a stream with last event id ${JSON.stringify(id.slice(0, 10))} is reopened`, async (t) => {
    const clock = createFakeClock()
    const server = await listen(t, (seen) => {
      if (seen.method !== 'GET') return polite()(seen)
      const first = server.seen.all.filter(({ method }) => method === 'GET').length === 1
      if (first) stream(seen).end(`id: 1\ndata: {"n":1}\n\nid: ${id}\ndata: {"n":2}\n\n`)
      else stream(seen).write('data: {"n":3}\n\n')
    })
    const link = await startLink(t, http(server.url), clock)
    link.open(1)
    await greetings({ server, link })
    await link.message()
    await link.message()
    const third = link.message()
    await server.seen.next(({ method }) => method === 'GET')
    while (server.seen.all.filter(({ method }) => method === 'GET').length < 2) {
      await new Promise((resolve) => setImmediate(resolve))
      if (clock.pending > 0) await clock.advance(1_000)
    }
    assert.equal(await third, { n: 3 })
    const again = server.seen.all.filter(({ method }) => method === 'GET')[1]
    assert.is(again?.headers['last-event-id'], header)
  })
}

test.run()
