import { request } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { buildNotification, buildRequest } from 'caduceus/protocol'
import {
  type HttpServeOptions,
  type Sink,
  type StreamEvent,
  subscribeTransport,
  TransportError,
} from 'caduceus/transports'
import type { Services } from '../../../support/ports.js'
import { StreamArchive } from '../../../../transports/http/streams/stream-archive.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import {
  type Event,
  exchange,
  firstData,
  goodHeaders,
  type Held,
  holding,
  type Reading,
  startListener,
} from '../../_listener.js'
import { connect, roomy, shareHttp, Traffic } from '../streams/_logs.js'

const test = suite('streams taken up on another process')

const revisions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'x' } }
const news = (data: string) => buildNotification('notifications/message', { level: 'info', data })

for (const revision of revisions) {
  test(`${revision}: a call resumes in full on another process`, async (t) => {
    const { one, two } = await startTwo(t)
    const { reading, sink, answer } = await begin(t, one, revision)
    const { id } = await reading.message()
    reading.cut()
    await gone(sink)
    const progress = buildNotification('notifications/progress', { progressToken: 1, progress: 1 })
    const question = buildRequest(99, 'elicitation/create', { message: 'sure?', requestedSchema: {} })
    assert.ok(sink.send(progress))
    const again = await resume(t, two, id, revision)
    assert.is(again.status, 200)
    assert.is((await again.message()).message.method, 'notifications/progress')
    assert.ok(sink.send(news('two')))
    assert.ok(sink.send(question))
    assert.is((await again.message()).message.params?.data, 'two')
    assert.is((await again.message()).message.method, 'elicitation/create')
    const said = { jsonrpc: '2.0', id: 99, result: { action: 'decline' } }
    const headers = { 'mcp-protocol-version': revision }
    assert.is((await exchange(t, two.url, { body: said, headers })).status, 202)
    answer({ done: true })
    assert.equal((await again.message()).message.result, { done: true })
    await again.ended
    if (revision !== '2025-11-25') assert.not.ok(again.items.all.some((item) => item.type === 'retry'))
  })

  test(`${revision}: a GET stream resumes on any process`, async (t) => {
    const { one, two, readers } = await startTwo(t)
    const first = await listening(t, one, revision)
    const { sink } = await readers.next()
    sink.send(news('a'))
    let { id } = await first.message()
    first.cut()
    await gone(sink)
    const got = []
    for (const [index, process] of [two, one, two, two].entries()) {
      const isSent = sink.send(news(`before ${index}`))
      const again = await resume(t, process, id, revision)
      // at home the stream is attached again
      const reader = await readers.next()
      const its = process === one ? reader.sink : sink
      if (process === two) assert.is(reader.sink.send(news('x')), false)
      const before = await again.message()
      assert.ok(isSent && its.send(news(`after ${index}`)))
      const after = await again.message()
      got.push(before.message.params?.data, after.message.params?.data)
      id = after.id
      again.cut()
    }
    assert.equal(
      got,
      [0, 1, 2, 3].flatMap((index) => [`before ${index}`, `after ${index}`]),
    )
  })

  test(`${revision}: a call of a dead process ends with a retryable error`, async (t) => {
    const { one, two } = await startTwo(t)
    const { reading, sink } = await begin(t, one, revision)
    const { id } = await reading.message()
    reading.cut()
    await gone(sink)
    sink.send(news('two'))
    one.die()
    for (let round = 0; round < 2; round++) {
      const again = await resume(t, two, id, revision)
      const [kept, last] = [await again.message(), await again.message()]
      await again.ended
      assert.is(kept.message.params?.data, 'two')
      assert.is(last.message.id, 7)
      assert.equal(last.message.error?.data, { retryable: true })
    }
  })

  test(`${revision}: a followed call whose process dies ends in the same way`, async (t) => {
    const { one, two } = await startTwo(t)
    const { reading, sink } = await begin(t, one, revision)
    const again = await resume(t, two, (await reading.message()).id, revision)
    sink.send(news('two'))
    assert.is((await again.message()).message.params?.data, 'two')
    one.die()
    assert.equal((await again.message()).message.error?.data, { retryable: true })
    await again.ended
  })

  test(`${revision}: a GET stream of a dead process gives what is kept, then starts anew`, async (t) => {
    const { one, two, readers } = await startTwo(t)
    const first = await listening(t, one, revision)
    const { sink } = await readers.next()
    sink.send(news('a'))
    const { id } = await first.message()
    first.cut()
    await gone(sink)
    sink.send(news('b'))
    one.die()
    const again = await resume(t, two, id, revision)
    assert.is((await again.message()).message.params?.data, 'b')
    const fresh = (await readers.next(({ sink: its }) => !isDeaf(its))).sink
    assert.ok(fresh.send(news('c')))
    const c = await again.message()
    assert.is(c.message.params?.data, 'c')
    again.cut()
    await gone(fresh)
    fresh.send(news('d'))
    assert.is((await (await resume(t, two, c.id, revision)).message()).message.params?.data, 'd')
  })
}

test('a released call ends on another process', async (t) => {
  const { one, two } = await startTwo(t)
  const sent = exchange(t, one.url, { body: call })
  const { sink, answer } = await one.requests.next()
  assert.is(sink.release?.(), true)
  const { id } = await (await sent).next()
  const again = await resume(t, two, id)
  const mark = await again.next()
  assert.not.equal(mark.id, id)
  assert.is(mark.data, '')
  again.cut()
  // the mark of that connection is a place to come back to, at home, too
  const home = await resume(t, one, mark.id)
  answer({ done: true })
  assert.equal((await home.message()).message.result, { done: true })
})

test('a followed stream is released by option and resumed', async (t) => {
  const { one, two } = await startTwo(t, { streams: { openAfter: 20, endAfter: 40 } })
  const { reading, answer } = await begin(t, one)
  let { id } = await reading.message()
  for (let round = 0; round < 3; round++) {
    const again = await resume(t, two, id)
    ;({ id } = await again.next())
    await again.ended
  }
  const found = await firstData(id, async (after) => {
    const last = await resume(t, two, after)
    answer({ done: true })
    return last
  })
  assert.equal(JSON.parse(found).result, { done: true })
})

test('an ended connection releases session and stream', async (t) => {
  const { one, two, readers, detached } = await startTwo(t)
  const streams = heard<StreamEvent>()
  t.after(subscribeTransport('stream', streams.add))
  const first = await listening(t, one)
  await readers.next()
  const again = await resume(t, two, (await first.next()).id)
  await again.next()
  again.cut()
  assert.ok(isDeaf(await detached.next()))
  while (!two.reports.some(({ type }) => type === 'stopped')) await turn()
  const { type, kind } = await streams.next((event) => event.type === 'resumed')
  assert.equal([type, kind], ['resumed', 'listen'])
})

test('a client that leaves during the lookup leaves nothing', async (t) => {
  const traffic = new Traffic({ manual: true })
  const { one, two, detached } = await startTwo(t, {}, () => ({}), traffic)
  const { reading } = await begin(t, one)
  const { id } = await reading.message()
  traffic.run()
  const headers = { ...goodHeaders, 'last-event-id': String(id) }
  const sent = request(two.url, { headers, agent: false }).on('error', () => {})
  sent.end()
  while (!two.reports.some(({ type }) => type === 'follow')) await turn()
  sent.destroy()
  assert.ok(isDeaf(await detached.next()))
  assert.is(two.reports.at(-1)?.type, 'stopped')
  traffic.run()
  assert.equal(one.news.map(({ type }) => type).slice(-2), ['lend', 'returned'])
})

test('a GET stream survives the death of its process on the connection', async (t) => {
  const { one, two, readers } = await startTwo(t)
  const first = await listening(t, one)
  const { sink } = await readers.next()
  const again = await resume(t, two, (await first.next()).id)
  const mark = await again.next()
  sink.send(news('a'))
  assert.is((await again.message()).message.params?.data, 'a')
  one.die()
  const fresh = (await readers.next(({ sink: its }) => !isDeaf(its))).sink
  const next = await again.next()
  assert.is(next.data, '')
  assert.is.not(next.id?.slice(0, 12), mark.id?.slice(0, 12))
  assert.ok(fresh.send(news('b')))
  assert.is((await again.message()).message.params?.data, 'b')
})

test('a GET stream continues at its client when its session moved', async (t) => {
  const { one, two, readers } = await startTwo(t)
  const first = await listening(t, one)
  const { sink } = await readers.next()
  const again = await resume(t, two, (await first.next()).id)
  sink.end?.({ type: 'over', goesOn: false })
  const fresh = (await readers.next(({ sink: its }) => !isDeaf(its))).sink
  assert.ok(fresh.send(news('b')))
  assert.is((await again.message()).message.params?.data, 'b')
})

test('a follower of a dead process ends if the session is gone, too', async (t) => {
  const ended = { is: false }
  const { one, two, readers } = await startTwo(t, {}, (port) => ({
    attach: async (...args) => {
      if (ended.is) throw new TransportError('SESSION_NOT_FOUND', 'gone')
      return (await port.attach?.(...args)) ?? (() => {})
    },
  }))
  const first = await listening(t, one)
  const { sink } = await readers.next()
  const again = await resume(t, two, (await first.next()).id)
  await again.next()
  ended.is = true
  sink.end?.({ type: 'over', goesOn: false })
  await again.ended
  assert.is(again.status, 200)
})

test('no stream is looked up before the session accepts its client', async (t) => {
  const { one, two } = await startTwo(t, {}, (port) => ({
    attach: async (sessionId, sink, peer) => {
      if (peer?.headers.authorization !== 'good') throw new TransportError('SESSION_NOT_FOUND', 'not yours')
      return (await port.attach?.(sessionId, sink, peer)) ?? (() => {})
    },
  }))
  const { reading } = await begin(t, one)
  const { id } = await reading.message()
  assert.is((await resume(t, two, id)).status, 404)
  assert.not.ok(two.reports.some(({ type }) => type === 'follow'))
  const headers = { 'last-event-id': String(id), authorization: 'good' }
  assert.is((await exchange(t, two.url, { method: 'GET', headers })).status, 200)
})

test('unusable event ids are refused on another process, too', async (t) => {
  const { one, two } = await startTwo(t)
  const { reading, answer } = await begin(t, one)
  const { id = '' } = await reading.message()
  answer({ secret: 42 })
  const last = await reading.message()
  for (const [what, headers] of Object.entries({
    'another session': { 'mcp-session-id': 'other', 'last-event-id': id },
    'a forged stream': { 'last-event-id': id.replace(/^c/, 'l') },
    'a forged number': { 'last-event-id': `${id}99` },
    'a forged mark': { 'last-event-id': `${id}-${'x'.repeat(30)}` },
    'the very last': { 'last-event-id': String(last.id) },
  })) {
    const refused = await exchange(t, two.url, { method: 'GET', headers })
    assert.is(refused.status, 400, what)
    assert.not.match(await refused.ended, /secret|42/)
  }
  assert.equal((await (await resume(t, two, id)).message()).message.result, { secret: 42 })
})

test.slow('a slow reader on another process is cut off and comes back for the rest', async (t) => {
  const { one, two, readers } = await startTwo(t, {
    limits: { bufferedBytes: 10_000 },
    streams: { resume: { maxBytes: 40_000_000 } },
  })
  const first = await listening(t, one)
  const { sink } = await readers.next()
  const { id } = await first.next()
  const slow = await resume(t, two, id)
  slow.response.pause()
  let sent = 0
  for (; sent < 30; sent++) {
    assert.ok(sink.send(news(`${sent} ${'x'.repeat(1_000_000)}`)))
    for (let count = 0; count < 5; count++) await turn()
  }
  while (!two.reports.some(({ type }) => type === 'stopped')) await turn()
  const again = await resume(t, two, id)
  for (let number = 0; number < sent; number++) {
    const { data } = (await again.message()).message.params ?? {}
    assert.is(String(data).split(' ')[0], String(number))
  }
})

test('a listener restart there breaks a followed stream, which resumes', async (t) => {
  const { one, two } = await startTwo(t)
  const { reading, sink, answer } = await begin(t, one)
  const { id } = await reading.message()
  const followed = await resume(t, two, id)
  await followed.next()
  await two.restart()
  await followed.ended
  sink.send(news('two'))
  const again = await resume(t, two, id)
  assert.is((await again.message()).message.params?.data, 'two')
  answer()
  assert.equal((await again.message()).message.result, {})
})

test('a stopping process waits for a call read elsewhere', async (t) => {
  const { one, two } = await startTwo(t)
  const { reading, sink, answer } = await begin(t, one)
  const again = await resume(t, two, (await reading.message()).id)
  await reading.ended
  const stopped = one.stop()
  sink.send(news('two'))
  assert.is((await again.message()).message.params?.data, 'two')
  answer({ done: true })
  assert.equal((await again.message()).message.result, { done: true })
  await stopped
})

test('the end of a session reaches all processes, and no stream is kept', async (t) => {
  const { one, two, archive } = await startTwo(t)
  const { reading, answer } = await begin(t, one)
  await reading.message()
  answer()
  await reading.ended
  while (archive.bytes === 0) await turn()
  assert.is((await exchange(t, two.url, { method: 'DELETE' })).status, 204)
  while (archive.bytes > 0) await turn()
})

test('JSON answers are not archived', async (t) => {
  const { one } = await startTwo(t)
  const sent = exchange(t, one.url, { body: call })
  ;(await one.requests.next()).answer({ done: true })
  assert.is((await sent).headers['content-type'], 'application/json')
  assert.equal(
    one.reports.map(({ type }) => type),
    ['joined'],
  )
})

test('each event comes once and in order through any cuts on both processes', async (t) => {
  const { one, two } = await startTwo(t)
  const { reading, sink, answer } = await begin(t, one)
  const total = 150
  let seed = 42
  const random = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
    return seed / 0x7fffffff
  }
  const got: unknown[] = []
  const sending = (async () => {
    for (let count = 0; count < total; count++) {
      // a stream keeps so many events
      while (count > got.length + 60) await turn()
      while (!sink.send(news(`${count}`))) await turn()
      if (random() < 0.3) for (let rounds = random() * 20; rounds > 0; rounds--) await turn()
    }
    answer({ done: true })
  })()
  let [connection, id, isDone]: [Messages, string | undefined, boolean] = [reading, undefined, false]
  while (!isDone) {
    for (let count = Math.floor(random() * 8); count >= 0 && !isDone; count--) {
      const { message, id: next } = await connection.message()
      got.push(message.params?.data)
      id = next
      isDone = message.result !== undefined
    }
    if (isDone) break
    connection.cut()
    connection = await resume(t, random() < 0.5 ? one : two, id)
    assert.is(connection.status, 200)
  }
  await sending
  assert.equal(got, ['one', ...Array.from({ length: total }, (_, index) => `${index}`), undefined])
})

type Process = Awaited<ReturnType<typeof startTwo>>['one']

/** Two processes of one server, as it were: what belongs to a session reaches it from both. */
async function startTwo(
  t: TestContext,
  options: HttpServeOptions = {},
  change: (port: Partial<Services>) => Partial<Services> = () => ({}),
  traffic = new Traffic(),
) {
  const held = holding()
  const limits = { ...roomy, maxBytes: 40_000_000, maxTotalBytes: 100_000_000 }
  const archive = new StreamArchive(limits, Date.now)
  const start = async () => {
    const wire = connect(archive, traffic)
    const port = { ...held.port, ...change(held.port) }
    const transport = shareHttp(options, wire.streams)
    return { ...held, ...wire, ...(await startListener(t, port, {}, { transport })) }
  }
  return { archive, ...held, one: await start(), two: await start() }
}

interface Said {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: unknown
  readonly error?: { readonly data?: unknown }
}

type Messages = Reading & { message(): Promise<Event & { readonly message: Said }> }

/** Sends a request and has the server send one message, so that there is a stream. */
async function begin(
  t: TestContext,
  { url, requests }: Process,
  revision: string = revisions[0],
): Promise<Held & { readonly reading: Messages }> {
  const sent = exchange(t, url, { body: call, headers: { 'mcp-protocol-version': revision } })
  const held = await requests.next()
  held.sink.send(news('one'))
  return { ...held, reading: withMessages(await sent) }
}

async function listening(
  t: TestContext,
  { url }: Process,
  revision: string = revisions[0],
): Promise<Messages> {
  return withMessages(
    await exchange(t, url, { method: 'GET', headers: { 'mcp-protocol-version': revision } }),
  )
}

async function resume(
  t: TestContext,
  { url }: Process,
  id: string | undefined,
  revision: string = revisions[0],
): Promise<Messages> {
  const headers = { 'last-event-id': String(id), 'mcp-protocol-version': revision }
  return withMessages(await exchange(t, url, { method: 'GET', headers }))
}

function withMessages(reading: Reading): Messages {
  const message = async () => {
    for (;;) {
      const event = await reading.next()
      if (event.data !== '') return { ...event, message: JSON.parse(event.data) as Said }
    }
  }
  return { ...reading, message }
}

function isDeaf(sink: Sink): boolean {
  return sink.end === undefined
}

/** Resolves once the server knows that the connection is gone. */
async function gone(sink: Sink): Promise<void> {
  while (!((sink as { isOver?: boolean }).isOver ?? true)) await turn()
}

test.run()
