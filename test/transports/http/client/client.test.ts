// second tier: time
import { get } from 'node:http'
import { createRequire } from 'node:module'
import * as assert from 'uvu/assert'
import { buildNotification, buildRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { http, type TransportError } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite } from '../../../support/suite.js'
import { greet, listen, initialized, json, polite, result, type Seen, status, stream } from '../../_http.js'
import { connect, greetings } from '../../_http-link.js'
import { type LinkTree, startLink } from '../../_link.js'

const test = suite('http client')

/** The next loss of a request that is not yet answered. */
async function _lost(link: LinkTree, id: number): Promise<TransportError> {
  const news = await link.news.next((one) => one.type === 'lost' && one.id === id)
  if (news.type !== 'lost') throw new Error('expected a loss')
  return news.error
}

test('nothing connects, and undici is not loaded, before a message', async (t) => {
  const loaded = () =>
    Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('undici'))
  const transport = http('http://127.0.0.1:9/mcp')
  assert.is(loaded(), false)
  assert.ok(Object.isFrozen(transport))
  const { server } = await connect(t, polite())
  assert.is(server.seen.all.length, 0)
})

test('a message is one POST that takes JSON and event streams, with the headers given', async (t) => {
  const { server, link } = await connect(t, polite(), { headers: { Authorization: 'Bearer x' } })
  link.send(1, buildRequest(1, 'initialize', { clientInfo: {} }))
  const { method, headers, message } = await server.seen.next()
  assert.is(method, 'POST')
  assert.is(headers.accept, 'application/json, text/event-stream')
  assert.is(headers['content-type'], 'application/json')
  assert.is(headers.authorization, 'Bearer x')
  assert.is(headers['mcp-session-id'], undefined)
  assert.is(headers['mcp-protocol-version'], undefined)
  assert.equal(message, buildRequest(1, 'initialize', { clientInfo: {} }))
  assert.is((await link.message()).id, 1)
})

test('session and revision headers are on every POST, GET and DELETE after initialize', async (t) => {
  const both = await connect(
    t,
    polite((seen) => json(seen, result(seen, {}))),
  )
  await greetings(both)
  const { server, link } = both
  await server.seen.next(({ method }) => method === 'GET')
  link.send(1, buildRequest(1, 'ping'))
  await link.message()
  link.close(1)
  assert.equal(await link.closed(), {})
  const later = server.seen.all.slice(1)
  assert.equal([...new Set(later.map(({ method }) => method))], ['POST', 'GET', 'DELETE'])
  for (const { headers } of later) {
    assert.is(headers['mcp-session-id'], 'session-1')
    assert.is(headers['mcp-protocol-version'], '2025-11-25')
  }
})

test('no message overtakes notifications/initialized', async (t) => {
  let taken: Seen | undefined
  const both = await connect(t, (seen) => {
    if (seen.message.method !== initialized.method)
      return polite((rest) => json(rest, result(rest, {})))(seen)
    taken = seen
  })
  const { server, link } = both
  await greetings(both)
  link.send(1, buildRequest(1, 'ping'))
  // Another round trip to the same server: what was sent before it has arrived.
  await new Promise((resolve) =>
    get(server.url, { agent: false }, (response) => response.resume().once('end', resolve)),
  )
  assert.equal(
    server.seen.all.map(({ method, message }) => message.method ?? method),
    ['initialize', initialized.method, 'GET'],
  )
  if (taken !== undefined) status(taken, 202)
  assert.is((await link.message()).id, 1)
})

test('requests wait for the stream on which the server may ask something', async (t) => {
  const opened = heard<Seen>()
  const answer = polite((seen) => json(seen, result(seen, {})))
  const both = await connect(t, (seen) => (seen.method === 'GET' ? opened.add(seen) : answer(seen)))
  const { server, link } = both
  await greetings(both)
  link.send(1, buildRequest(1, 'tools/call'))
  const get = await opened.next()
  // a notification to the same server, and past what is held: what was sent before it has arrived
  await fetch(server.url, { method: 'POST', body: JSON.stringify(buildNotification('notifications/x')) })
  assert.is(
    server.seen.all.some(({ message }) => message.id === 1),
    false,
  )
  stream(get).write(`data: ${JSON.stringify(buildRequest('q', 'roots/list'))}\n\n`)
  assert.equal([(await link.message()).id, (await link.message()).id].sort(), [1, 'q'])
})

test('a server that never answers the GET delays requests briefly', async (t) => {
  const clock = createFakeClock()
  const answer = polite((seen) => json(seen, result(seen, {})))
  const server = await listen(t, (seen) => (seen.method === 'GET' ? undefined : answer(seen)))
  const link = await startLink(t, http(server.url), clock)
  link.open(1)
  await greetings({ server, link })
  link.send(1, buildRequest(1, 'tools/call'))
  await server.seen.next(({ method }) => method === 'GET')
  await clock.advance(1_000)
  assert.is((await link.message()).id, 1)
})

test('a server known to leave GET unanswered is not waited for, until it answers one', async (t) => {
  const clock = createFakeClock()
  const gets = heard<Seen>()
  const answer = polite((seen) => json(seen, result(seen, {})))
  const server = await listen(t, (seen) => (seen.method === 'GET' ? gets.add(seen) : answer(seen)))
  const link = await startLink(t, http(server.url), clock)
  const connectAgain = async (number: number): Promise<void> => {
    link.open(number)
    await link.news.next(({ type }) => type === 'opened')
    link.send(number, buildRequest(0, 'initialize', {}))
    await link.message()
    link.send(number, initialized)
    link.send(number, buildRequest(number, 'tools/call'))
  }
  await connectAgain(1)
  const silent = await gets.next()
  await clock.advance(1_000)
  assert.is((await link.message()).id, 1)
  stream(silent).write('data: {"n":1}\n\n')
  assert.equal(await link.message(), { n: 1 })
  await connectAgain(2)
  assert.is((await link.message()).id, 2)
  status(await gets.next(), 405)
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  await connectAgain(3)
  const held = await gets.next()
  assert.is(
    server.seen.all.some(({ message }) => message.id === 3),
    false,
  )
  status(held, 405)
  assert.is((await link.message()).id, 3)
})

test('an event stream yields its messages in order, however split, the answer last', async (t) => {
  const { link } = await connect(t, async (seen) => {
    const events = [
      { method: 'notifications/progress', params: { progress: 1 } },
      result(seen, { text: 'größer' }),
    ]
    const text = `: hello\n\nid: 1\ndata:\n\n${events.map((event) => `event: message\r\ndata: ${JSON.stringify(event)}\r\n\r\n`).join('')}`
    const response = stream(seen)
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  link.send(1, buildRequest(1, 'tools/call'))
  assert.is((await link.message()).method, 'notifications/progress')
  assert.equal((await link.message()).result, { text: 'größer' })
})

test('a cancelled request gives its connection back', async (t) => {
  const both = await connect(
    t,
    polite((seen) => void stream(seen).write(': working\n\n')),
    { limits: { connections: 1 } },
  )
  await greetings(both)
  const { server, link } = both
  link.send(1, buildRequest(1, 'tools/call'))
  const { response } = await server.seen.next(({ message }) => message.id === 1)
  const closed = new Promise((resolve) => response.once('close', resolve))
  link.send(1, buildNotification('notifications/cancelled', { requestId: 1 }))
  await closed
  link.send(1, buildRequest(2, 'tools/call'))
  await server.seen.next(({ message }) => message.id === 2)
})

test('a server that acknowledges nothing delays requests briefly', async (t) => {
  const clock = createFakeClock()
  const server = await listen(t, (seen) => (seen.message.method === 'initialize' ? greet(seen) : undefined))
  const link = await startLink(t, http(server.url), clock)
  link.open(1)
  await greetings({ server, link })
  link.send(1, buildRequest(1, 'tools/call'))
  await clock.advance(2_000)
  const call = await server.seen.next(({ message }) => message.id === 1)
  const closed = new Promise((resolve) => call.response.once('close', resolve))
  link.send(1, buildNotification('notifications/cancelled', { requestId: 1 }))
  await server.seen.next(({ message }) => message.method === 'notifications/cancelled')
  await clock.advance(10_000)
  await closed
  link.close(1)
  await server.seen.next(({ method }) => method === 'DELETE')
  await clock.advance(2_000)
  assert.equal(await link.closed(), {})
})

test('a stream that stays open after the answer is closed', async (t) => {
  const both = await connect(
    t,
    polite((seen) => void stream(seen).write(`data: ${JSON.stringify(result(seen, {}))}\n\n`)),
  )
  await greetings(both)
  both.link.send(1, buildRequest(1, 'ping'))
  const { response } = await both.server.seen.next(({ message }) => message.id === 1)
  assert.is((await both.link.message()).id, 1)
  await new Promise((resolve) => response.once('close', resolve))
})

test('the end of its actor aborts everything that is open', async (t) => {
  const both = await connect(t, (seen) =>
    seen.method === 'GET' ? void stream(seen) : polite(() => {})(seen),
  )
  await greetings(both)
  const { server, link } = both
  const streamed = await server.seen.next(({ method }) => method === 'GET')
  link.send(1, buildRequest(1, 'tools/call'))
  const called = await server.seen.next(({ message }) => message.id === 1)
  const closed = [streamed, called].map(
    ({ response }) => new Promise((resolve) => response.once('close', resolve)),
  )
  link.registry.whereis('transport')?.kill()
  await Promise.all(closed)
})

test('a server that hangs on DELETE is not waited for longer than two seconds', async (t) => {
  const both = await connect(t, (seen) => (seen.method === 'DELETE' ? undefined : polite()(seen)))
  await greetings(both)
  both.link.close(1)
  assert.equal(await both.link.closed(), {})
})

test.run()
