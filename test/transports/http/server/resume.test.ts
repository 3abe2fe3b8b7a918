import * as assert from 'uvu/assert'
import { buildNotification } from 'caduceus/protocol'
import { type Sink, TransportError } from 'caduceus/transports'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, type Held, holding, type Reading, startListener } from '../../_listener.js'

const test = suite('http resume')
const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'x' } }
const news = (data: string) => buildNotification('notifications/message', { level: 'info', data })

test('a stream starts with an id and a retry time, and each message has an id', async (t) => {
  const { url, requests } = await start(t)
  const { answer, items } = await begin(t, url, requests)
  answer({ done: true })
  const first = await items.next()
  assert.equal(first, { type: 'retry', ms: 1_000 })
  const [prime, one, last] = [await items.next(), await items.next(), await items.next()]
  assert.ok(prime.type === 'event' && one.type === 'event' && last.type === 'event')
  assert.is(prime.data, '')
  assert.equal(
    [JSON.parse(one.data).params.data, JSON.parse(last.data)],
    [
      'one',
      {
        jsonrpc: '2.0',
        id: 7,
        result: { done: true },
      },
    ],
  )
  assert.is(new Set([prime.id, one.id, last.id]).size, 3)
})

test('earlier revisions get event ids, but no event without data', async (t) => {
  for (const version of [undefined, '2025-06-18', '2025-03-26']) {
    const { url, requests } = await start(t)
    const { items, next } = await begin(t, url, requests, { 'mcp-protocol-version': version })
    const first = await next()
    assert.is(JSON.parse(first.data).params.data, 'one')
    assert.ok(first.id)
    assert.not.ok(items.all.some(({ type }) => type === 'retry'))
  }
})

test('a request whose client left goes on, and the returning client gets its answer', async (t) => {
  const { url, requests } = await start(t)
  const reading = await begin(t, url, requests)
  await reading.next()
  const { id } = await reading.next()
  reading.cut()
  await gone(reading.sink)
  assert.is(reading.sink.send(news('two')), true)
  reading.answer({ done: true })
  const again = await resume(t, url, id)
  assert.is(again.status, 200)
  const [two, last] = [await again.next(), await again.next()]
  await again.ended
  assert.equal([JSON.parse(two.data).params.data, JSON.parse(last.data).result], ['two', { done: true }])
  assert.is(again.items.all.filter(({ type }) => type === 'event').length, 2)
})

test('a client that resumes early gets the answer once it is there', async (t) => {
  const { url, requests } = await start(t)
  const reading = await begin(t, url, requests)
  const { id } = await reading.next()
  reading.cut()
  await gone(reading.sink)
  const again = await resume(t, url, id)
  assert.is(JSON.parse((await again.next()).data).params.data, 'one')
  again.cut()
  assert.ok(reading.sink.send(news('meanwhile')))
  reading.answer({ done: true })
  const last = await resume(t, url, id)
  const data = [await last.next(), await last.next(), await last.next()].map((event) =>
    JSON.parse(event.data),
  )
  assert.equal(
    data.map(({ params, result }) => params?.data ?? result),
    ['one', 'meanwhile', { done: true }],
  )
  await last.ended
})

test('a client that resumes a stream replaces its old connection', async (t) => {
  const { url, requests } = await start(t)
  const reading = await begin(t, url, requests)
  const { id } = await reading.next()
  const again = await resume(t, url, id)
  await reading.ended
  await again.next()
  assert.is(reading.sink.send(news('two')), true)
  assert.is(JSON.parse((await again.next()).data).params.data, 'two')
  reading.answer()
  await again.ended
})

test('only the stream named by the id is replayed', async (t) => {
  const { url, requests, readers } = await start(t)
  const listening = await exchange(t, url, { method: 'GET' })
  const { sink } = await readers.next()
  const [one, other] = [await begin(t, url, requests), await begin(t, url, requests)]
  const { id } = await one.next()
  sink.send(news('unrelated'))
  for (const { cut, sink: its } of [one, other]) {
    cut()
    await gone(its)
  }
  other.sink.send(news('of the other'))
  one.sink.send(news('two'))
  one.answer()
  const again = await resume(t, url, id)
  await again.ended
  const data = again.items.all.flatMap((item) => (item.type === 'event' ? [JSON.parse(item.data)] : []))
  assert.equal(
    data.map(({ params }) => params?.data),
    ['one', 'two', undefined],
  )
  await listening.next()
  assert.is(JSON.parse((await listening.next()).data).params.data, 'unrelated')
  other.answer()
})

test('a GET stream resumes where it broke and repeats nothing', async (t) => {
  const { url, readers, detached } = await start(t)
  const first = await exchange(t, url, { method: 'GET' })
  const { sink } = await readers.next()
  await first.next()
  sink.send(news('one'))
  const { id } = await first.next()
  first.cut()
  await gone(sink)
  assert.is(sink.send(news('two')), true)
  const second = await resume(t, url, id)
  const reader = await readers.next()
  assert.is(await detached.next(), sink)
  assert.is(reader.sink.send(news('three')), true)
  const data = [await second.next(), await second.next()].map((event) => JSON.parse(event.data).params.data)
  assert.equal(data, ['two', 'three'])
})

test('each message goes to one GET stream, and a dropped one leaves it to the others', async (t) => {
  const { url, readers } = await start(t)
  const [one, other] = [await exchange(t, url, { method: 'GET' }), await exchange(t, url, { method: 'GET' })]
  const [first, second] = [(await readers.next()).sink, (await readers.next()).sink]
  await Promise.all([one.next(), other.next()])
  const send = (data: string) => second.send(news(data)) || first.send(news(data))
  send('a')
  assert.is(JSON.parse((await other.next()).data).params.data, 'a')
  other.cut()
  await gone(second, () => second.send(news('b')) === false)
  send('c')
  assert.is(JSON.parse((await one.next()).data).params.data, 'c')
})

test('a GET stream without a known id ends with its connection', async (t) => {
  const { url, readers, detached } = await start(t)
  const stream = await exchange(t, url, { method: 'GET', headers: { 'mcp-protocol-version': '2025-06-18' } })
  const { sink } = await readers.next()
  stream.cut()
  assert.is(await detached.next(), sink)
  assert.is(sink.send(news('a')), false)
})

test('unusable event ids are refused and reveal no session', async (t) => {
  const { url, requests } = await start(t)
  const reading = await begin(t, url, requests)
  const { id = '' } = await reading.next()
  await reading.next()
  reading.answer({ secret: 42 })
  const last = await reading.next()
  for (const [what, headers] of Object.entries({
    'another session': { 'mcp-session-id': 'other', 'last-event-id': id },
    'a forged stream': { 'last-event-id': id.replace(/^c/, 'l') },
    'a forged number': { 'last-event-id': `${id}99` },
    nonsense: { 'last-event-id': '__proto__' },
    'a long one': { 'last-event-id': 'x'.repeat(8_000) },
    'the very last': { 'last-event-id': last.id },
  })) {
    const refused = await exchange(t, url, { method: 'GET', headers })
    assert.is(refused.status, 400, what)
    assert.not.match(await refused.ended, /secret|42/)
  }
  const good = await resume(t, url, id)
  assert.is(good.status, 200)
})

test('an ended session is 404 for any event id, without streams', async (t) => {
  const ended = new Set<string>()
  const held = holding()
  const attach: typeof held.port.attach = async (sessionId, sink) => {
    if (ended.has(sessionId)) throw new TransportError('SESSION_NOT_FOUND', 'gone')
    return (await held.port.attach?.(sessionId, sink)) ?? (() => {})
  }
  const { url, binding } = await startListener(t, {
    ...held.port,
    attach,
    close: async (sessionId) => void ended.add(sessionId),
  })
  const reading = await begin(t, url, held.requests)
  const { id } = await reading.next()
  reading.answer()
  assert.is((await exchange(t, url, { method: 'DELETE' })).status, 204)
  assert.is((await resume(t, url, id)).status, 404)
  assert.is((await exchange(t, url, { method: 'GET' })).status, 404)
  assert.is((binding as unknown as { log: { bytes: number } }).log.bytes, 0)
})

test('a resume from evicted events is refused', async (t) => {
  const { url, requests } = await start(t, { streams: { resume: { maxEvents: 2 } } })
  const reading = await begin(t, url, requests)
  const { id } = await reading.next()
  for (const text of ['two', 'three', 'four']) reading.sink.send(news(text))
  await reading.next()
  const { id: two } = await reading.next()
  assert.is((await resume(t, url, id)).status, 400)
  const again = await resume(t, url, two)
  assert.is(JSON.parse((await again.next()).data).params.data, 'three')
})

test('a listener restart loses no stream: the client resumes', async (t) => {
  const held = holding()
  const listening = await startListener(t, held.port)
  const get = await exchange(t, listening.url, { method: 'GET' })
  await held.readers.next()
  const reading = await begin(t, listening.url, held.requests)
  await get.next()
  await reading.next()
  const { id } = await reading.next()
  reading.cut()
  await gone(reading.sink)
  await listening.restart()
  await get.ended
  reading.answer({ done: true })
  const again = await resume(t, listening.url, id)
  const found = []
  for (let data = {} as { result?: object }; data.result === undefined; found.push(data))
    data = JSON.parse((await again.next()).data)
  assert.equal(found.at(-1)?.result, { done: true })
})

test('an event id of a dead process starts a new GET stream, with no answer', async (t) => {
  const [before, after] = [await start(t), await start(t)]
  const get = await exchange(t, before.url, { method: 'GET' })
  const { id } = await get.next()
  const { id: callId } = await (await begin(t, before.url, before.requests)).next()
  const again = await resume(t, after.url, id)
  assert.is(again.status, 200)
  assert.not.equal((await again.next()).id, id)
  assert.is((await resume(t, after.url, callId)).status, 400)
})

test('without resumption a stream has no ids, and Last-Event-ID begins a new one', async (t) => {
  const { url, requests } = await start(t, { streams: { resume: false } })
  const reading = await begin(t, url, requests)
  assert.equal((await reading.next()).id, undefined)
  reading.cut()
  await gone(reading.sink, () => reading.sink.send(news('two')) === false)
  assert.is((await resume(t, url, 'x')).status, 200)
})

async function start(t: TestContext, options = {}) {
  const held = holding()
  const { url, binding } = await startListener(t, held.port, options)
  return { ...held, url, binding }
}

/** Sends a request and has the server send one message, so that there is a stream. */
async function begin(
  t: TestContext,
  url: string,
  requests: { next(): Promise<Held> },
  headers: Record<string, string | undefined> = {},
): Promise<Reading & Held> {
  const sent = exchange(t, url, { body: call, headers })
  const held = await requests.next()
  held.sink.send(news('one'))
  return { ...(await sent), ...held }
}

function resume(t: TestContext, url: string, id: string | undefined): Promise<Reading> {
  return exchange(t, url, { method: 'GET', headers: { 'last-event-id': String(id) } })
}

/** Resolves once the server knows that the connection is gone. */
async function gone(sink: Sink, isGone = () => isOver(sink)): Promise<void> {
  while (!isGone()) await new Promise((resolve) => setImmediate(resolve))
}

function isOver(sink: Sink): boolean {
  return (sink as { isOver?: boolean }).isOver ?? true
}

test.run()
