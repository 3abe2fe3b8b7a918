import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { buildNotification } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { mount } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, startListener } from '../../_listener.js'
import { type Exchanging, exchanging, headersOf, modern, request } from '../../_modern.js'

const test = suite('http exchanges')
const call = request(7, 'tools/call', { name: 'slow' })
const progress = buildNotification('notifications/progress', { progressToken: 1, progress: 1 })

test('notifications turn the answer into a stream without ids that ends with it', async (t) => {
  const { url, calls } = await start(t, { streams: { retryInterval: 5 } })
  const sent = send(t, url)
  const { call: got, answer } = await calls.next()
  assert.equal([got.request, got.mirrored, got.peer.transport], [call, true, 'http'])
  assert.is(got.sink.send(progress), true)
  assert.is(got.sink.release?.(), false)
  const reading = await sent
  assert.is(reading.status, 200)
  assert.equal(
    [
      reading.headers['content-type'],
      reading.headers['x-accel-buffering'],
      reading.headers['mcp-session-id'],
    ],
    ['text/event-stream', 'no', undefined],
  )
  answer({ done: true })
  await reading.ended
  assert.equal(reading.items.all, [
    { type: 'event', event: 'message', data: JSON.stringify(progress) },
    {
      type: 'event',
      event: 'message',
      data: '{"jsonrpc":"2.0","id":7,"result":{"done":true}}',
    },
  ])
})

test('a long call without a session is kept alive for a client that streams', async (t) => {
  const clock = createFakeClock()
  const { url, calls } = await start(t, { streams: { commentInterval: 1_000 } }, { clock })
  const sent = send(t, url)
  const { answer } = await calls.next()
  await clock.advance(1_999)
  const quick = send(t, url)
  ;(await calls.next()).answer({ done: 1 })
  assert.match(String((await quick).headers['content-type']), 'application/json')
  await clock.advance(2_001)
  const reading = await sent
  assert.equal([reading.status, reading.headers['content-type']], [200, 'text/event-stream'])
  answer({ done: 2 })
  await reading.ended
  const data = '{"jsonrpc":"2.0","id":7,"result":{"done":2}}'
  assert.equal(
    reading.items.all.filter(({ type }) => type === 'event'),
    [{ type: 'event', event: 'message', data }],
  )
})

test('nothing is committed before the first notification or answer', async (t) => {
  const clock = createFakeClock()
  const { url, port, calls } = await start(t, { streams: { openAfter: 10 } }, { clock })
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  let bytes = ''
  socket.on('data', (chunk) => {
    bytes += chunk
  })
  const text = JSON.stringify(call)
  socket.write(`${head(text)}${text}`)
  const { fail } = await calls.next()
  await clock.advance(60_000)
  const other = send(t, url)
  ;(await calls.next()).answer()
  assert.is((await other).status, 200)
  assert.is(bytes, '')
  fail(-32021, false)
  while (!bytes.includes('-32021')) await new Promise((resolve) => socket.once('data', resolve))
  assert.match(bytes, /^HTTP\/1\.1 400 /)
})

test('once a stream has begun, errors are events of it', async (t) => {
  const { url, calls } = await start(t)
  for (const code of [-32021, -32601, -32603]) {
    const sent = send(t, url)
    const { call: got, fail } = await calls.next()
    got.sink.send(progress)
    fail(code, code === -32601)
    const reading = await sent
    await reading.ended
    assert.is(reading.status, 200)
    const last = reading.items.all.at(-1)
    assert.is(last?.type === 'event' && JSON.parse(last.data).error.code, code)
  }
})

const ways: readonly [string, (exchanging: Exchanging) => void][] = [
  ['before anything is written', () => {}],
  ['in the middle of its stream', ({ call: got }) => void got.sink.send(progress)],
]
for (const [when, begin] of ways) {
  test(`a client that leaves ${when} cancels its request`, async (t) => {
    const { port, calls } = await start(t)
    const socket = connect(port, '127.0.0.1')
    let bytes = ''
    socket.on('data', (chunk) => {
      bytes += chunk
    })
    const text = JSON.stringify(call)
    socket.write(`${head(text)}${text}`)
    const one = await calls.next()
    assert.not.ok(one.call.signal.aborted)
    begin(one)
    if (when.includes('stream')) await new Promise((resolve) => socket.once('data', resolve))
    const heard = bytes
    socket.destroy()
    await one.aborted
    assert.is(one.call.sink.send(progress), false)
    one.drop()
    await new Promise(setImmediate)
    assert.is(bytes, heard)
  })
}

test('a client that half-closes its connection counts as left', async (t) => {
  const { port, calls } = await start(t)
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  const text = JSON.stringify(call)
  socket.end(`${head(text)}${text}`)
  const one = await calls.next()
  await one.aborted
  assert.is(one.call.sink.send(progress), false)
})

test('a leaving client also cancels requests queued on its connection', async (t) => {
  const { port, calls } = await start(t)
  const socket = connect(port, '127.0.0.1')
  const text = JSON.stringify(call)
  socket.write(`${head(text)}${text}`.repeat(3))
  const all = [await calls.next(), await calls.next(), await calls.next()]
  all[1]?.answer()
  socket.destroy()
  await Promise.all([all[0]?.aborted, all[2]?.aborted])
})

test('an answer for a client that left is not written, and the port serves on', async (t) => {
  const { url, calls } = await start(t)
  const reading = send(t, url)
  const one = await calls.next()
  one.call.sink.send(progress)
  ;(await reading).cut()
  await one.aborted
  one.answer({ late: true })
  const again = send(t, url)
  ;(await calls.next()).answer({ next: true })
  assert.equal(JSON.parse(await (await again).ended).result, { next: true })
})

test('a request that was answered is not cancelled afterwards', async (t) => {
  const { url, calls } = await start(t)
  const sent = send(t, url)
  const { call: got, answer } = await calls.next()
  let aborted = 0
  got.signal.addEventListener('abort', () => aborted++)
  answer()
  const reading = await sent
  await reading.ended
  await new Promise(setImmediate)
  assert.is(aborted, 0)
})

test('a quiet stream is kept open by comments', async (t) => {
  const { url, calls } = await start(t, { streams: { commentInterval: 5 } })
  const body = request('l', 'subscriptions/listen', { notifications: {} })
  const sent = exchange(t, url, { body, headers: headersOf(body) })
  const { call: got } = await calls.next()
  got.sink.send(buildNotification('notifications/subscriptions/acknowledged', {}))
  const reading = await sent
  await new Promise<void>((resolve) =>
    reading.response.on('data', (chunk: Buffer) => {
      if (chunk.toString().startsWith(':')) resolve()
    }),
  )
})

test('a listener restart answers open requests with a retryable error', async (t) => {
  const listener = await start(t)
  const plain = send(t, listener.url)
  await listener.calls.next()
  const streaming = send(t, listener.url)
  const second = await listener.calls.next()
  second.call.sink.send(progress)
  const stream = await streaming
  await listener.restart()
  const answer = await plain
  assert.equal([answer.status, answer.headers['retry-after']], [503, '1'])
  assert.equal(errorOf(await answer.ended), [7, { retryable: true }])
  await stream.ended
  const last = stream.items.all.at(-1)
  assert.equal(last?.type === 'event' && errorOf(last.data), [7, { retryable: true }])
  await second.aborted
})

test('a stopping server ends subscriptions and drains open requests', async (t) => {
  const listener = await start(t)
  const sent = send(t, listener.url)
  const { answer } = await listener.calls.next()
  const stopped = listener.stop()
  await listener.ends.next()
  answer({ in: 'time' })
  assert.equal(JSON.parse(await (await sent).ended).result, { in: 'time' })
  await stopped
})

test('a subscription during the stop is refused and not waited for', async (t) => {
  const asked = heard<'asked'>()
  const authenticate = () => {
    asked.add('asked')
    return 'anonymous' as const
  }
  const listener = await start(t, { authenticate }, { drainTimeout: 60_000 })
  const socket = connect(listener.port, '127.0.0.1')
  t.after(() => socket.destroy())
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
  const body = JSON.stringify(request(7, 'subscriptions/listen', { notifications: {} }))
  socket.write(head(body).replace('tools/call', 'subscriptions/listen'))
  await asked.next()
  const stopped = listener.stop()
  await listener.ends.next()
  socket.write(body)
  assert.match(await answer, /^HTTP\/1\.1 503 .*"retryable":true/s)
  await stopped
  assert.is(listener.calls.all.length, 0)
})

test('mounted in a server with Fetch: a body that is cancelled cancels the request', async (t) => {
  const mcp = mount()
  const { calls } = await start(t, {}, { transport: mcp })
  const headers = Object.entries({
    ...headersOf(call),
    'content-type': 'application/json',
    host: 'localhost',
  })
  const good = headers.filter((pair): pair is [string, string] => pair[1] !== undefined)
  const abort = new AbortController()
  const init = { method: 'POST', headers: good, body: JSON.stringify(call) }
  const first = mcp.fetch(new Request('http://localhost/mcp', { ...init, signal: abort.signal }))
  const one = await calls.next()
  abort.abort()
  await one.aborted
  assert.is((await first).status, 400)
  const second = mcp.fetch(new Request('http://localhost/mcp', init))
  const two = await calls.next()
  two.call.sink.send(progress)
  await (await second).body?.cancel()
  await two.aborted
})

async function start(
  t: TestContext,
  options: Parameters<typeof startListener>[2] = {},
  scope: Parameters<typeof startListener>[3] = {},
) {
  const { port, calls, ends } = exchanging()
  const listener = await startListener(t, port, options, scope)
  return { ...listener, calls, ends }
}

function send(t: TestContext, url: string) {
  return exchange(t, url, { body: call, headers: headersOf(call) })
}

function head(text: string): string {
  return `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: ${modern}\r\nMcp-Method: tools/call\r\nMcp-Name: slow\r\nContent-Length: ${text.length}\r\n\r\n`
}

function errorOf(text: string): unknown {
  const { id, error } = JSON.parse(text)
  return [id, error.data]
}

test.run()
