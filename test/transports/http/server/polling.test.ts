import * as assert from 'uvu/assert'
import { buildNotification } from 'caduceus/protocol'
import { formatTree, inspect } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, firstData, holding, type Reading, startListener } from '../../_listener.js'

const test = suite('http polling')
const news = (data: string) => buildNotification('notifications/message', { level: 'info', data })
const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'x' } }

test('releaseStream ends a stream early, and the client resumes it', async (t) => {
  const { url, requests } = await start(t, { streams: { retryInterval: 321 } })
  const sent = exchange(t, url, { body: call })
  const { sink, answer } = await requests.next()
  assert.is(sink.release?.(), true)
  const reading = await sent
  const { id } = await reading.next()
  await reading.ended
  assert.equal(reading.items.all[0], { type: 'retry', ms: 321 })
  assert.is(reading.items.all.length, 2)
  answer({ done: true })
  const again = await resume(t, url, id)
  assert.equal(JSON.parse((await again.next()).data).result, { done: true })
})

test('answer bytes for a client that was released or left are not held', async (t) => {
  const { url, requests, listener } = await start(t)
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
  }
  for (const how of ['sent away', 'gone']) {
    const sent = exchange(t, url, { body: call })
    const { sink, answer } = await requests.next()
    if (how === 'sent away') sink.release?.()
    else sink.send(news('one'))
    const reading = await sent
    const { id } = await reading.next()
    if (how === 'gone') reading.cut()
    await until(() => / 0 open requests/.test(formatTree(inspect(listener()))))
    answer({ text: 'x'.repeat(500_000) })
    const again = await resume(t, url, id)
    await again.ended
    assert.match(JSON.stringify(again.items.all), /x{500000}/)
    await until(() => / 0 open requests/.test(formatTree(inspect(listener()))))
    assert.match(formatTree(inspect(listener())), /, 0\.0 of \d+ MiB pending/)
  }
})

test('a stream is not released for a client that would not resume', async (t) => {
  for (const [options, version] of [
    [{}, '2025-06-18'],
    [{ streams: { resume: false } }, '2025-11-25'],
  ] as const) {
    const { url, requests } = await start(t, options)
    const sent = exchange(t, url, { body: call, headers: { 'mcp-protocol-version': version } })
    const { sink, answer } = await requests.next()
    assert.is(sink.release?.(), false)
    answer()
    assert.is((await sent).headers['content-type'], 'application/json')
  }
})

test('long streams end early by option, again and again, until the answer is there', async (t) => {
  const { url, requests } = await start(t, { streams: { openAfter: 20, endAfter: 40 } })
  const reading = await exchange(t, url, { body: call })
  const { answer } = await requests.next()
  let { id } = await reading.next()
  await reading.ended
  for (let round = 0; round < 2; round++) {
    const again = await resume(t, url, id)
    ;({ id } = await again.next())
    await again.ended
  }
  const found = await firstData(id, async (after) => {
    const last = await resume(t, url, after)
    answer({ done: true })
    return last
  })
  assert.equal(JSON.parse(found).result, { done: true })
})

test('a slow request answers by event stream, for clients of earlier revisions too', async (t) => {
  const { url, requests } = await start(t, { streams: { openAfter: 20 } })
  const headers = { 'mcp-protocol-version': '2025-06-18' }
  const reading = await exchange(t, url, { body: call, headers })
  assert.is(reading.headers['content-type'], 'text/event-stream')
  const { answer } = await requests.next()
  answer({ done: true })
  assert.equal(JSON.parse((await reading.next()).data).result, { done: true })
  await reading.ended
})

test('an error after a timed stream start is an event of it', async (t) => {
  const failed = heard<(error: Error) => void>()
  const { url } = await startListener(
    t,
    {
      deliver: (_id, _message, sink) => {
        sink.negotiated?.('2025-11-25')
        return new Promise((_, reject) => failed.add(reject))
      },
    },
    { streams: { openAfter: 20 } },
  )
  const reading = await exchange(t, url, { body: call })
  await reading.next()
  ;(await failed.next())(new TransportError('SESSION_NOT_FOUND', 'gone'))
  const { id, error } = JSON.parse((await reading.next()).data)
  assert.equal([id, error.code], [7, -32600])
  await reading.ended
})

test.slow('a reader that does not read is cut off at the limit and resumes the rest', async (t) => {
  const { url, readers } = await start(t, {
    limits: { bufferedBytes: 10_000 },
    streams: { resume: { maxBytes: 40_000_000 } },
  })
  const stream = await exchange(t, url, { method: 'GET' })
  const { sink } = await readers.next()
  const { id } = await stream.next()
  stream.response.pause()
  let sent = 0
  for (; sent < 30; sent++) {
    assert.ok(sink.send(news(`${sent} ${'x'.repeat(1_000_000)}`)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  stream.cut()
  const again = await resume(t, url, id)
  for (let number = 0; number < sent; number++) {
    const { data } = JSON.parse((await again.next()).data).params
    assert.is(data.split(' ')[0], String(number))
  }
})

async function start(t: TestContext, options = {}) {
  const held = holding()
  const { url, listener } = await startListener(t, held.port, options)
  return { ...held, url, listener }
}

function resume(t: TestContext, url: string, id: string | undefined): Promise<Reading> {
  return exchange(t, url, { method: 'GET', headers: { 'last-event-id': String(id) } })
}

test.run()
