import * as assert from 'uvu/assert'
import { buildNotification, buildRequest } from 'caduceus/protocol'
import { suite } from '../../../support/suite.js'
import { begin, event, lost, untilDone } from '../../_answers.js'
import { result, type Seen, status, stream } from '../../_http.js'

const test = suite('http client resumption')

test('an answer cut short is resumed after the retry time of the server', async (t) => {
  let asked: Seen | undefined
  const { server, link, clock } = await begin(
    t,
    (seen) => {
      asked = seen
      stream(seen).end('retry: 500\nid: a-1\ndata:\n\n')
    },
    (seen) => {
      if (asked !== undefined) stream(seen).end(event(result(asked, { text: 'at last' }), 'a-2'))
    },
  )
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  link.send(1, buildRequest(1, 'tools/call'))
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(499)
  assert.is(server.seen.all.filter(({ method }) => method === 'GET').length, 0)
  await clock.advance(1)
  const { headers } = await server.seen.next(({ method }) => method === 'GET')
  assert.equal(
    [headers['last-event-id'], headers['mcp-session-id'], headers.accept],
    ['a-1', 'session-1', 'text/event-stream'],
  )
  assert.equal((await link.message()).result, { text: 'at last' })
})

test('an answer is resumed while each stream brings news, in order and once', async (t) => {
  let asked: Seen | undefined
  const { server, link, clock } = await begin(
    t,
    (seen) => {
      asked = seen
      const response = stream(seen)
      response.write(event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 0 } }, '0'))
      setImmediate(() => response.destroy())
    },
    (seen, number) => {
      if (number < 12) {
        const params = { data: number }
        return stream(seen).end(
          event({ jsonrpc: '2.0', method: 'notifications/message', params }, `${number}`),
        )
      }
      if (asked !== undefined) stream(seen).end(event(result(asked, {}), `${number}`))
    },
  )
  link.send(1, buildRequest(1, 'tools/call'))
  const seen: unknown[] = []
  await untilDone(
    clock,
    (async () => {
      for (let message = await link.message(); message.id !== 1; message = await link.message())
        seen.push((message.params as { data: number }).data)
    })(),
  )
  assert.equal(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  assert.equal(
    server.seen.all.filter(({ method }) => method === 'GET').map(({ headers }) => headers['last-event-id']),
    ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11'],
  )
})

test('a rest that never comes is given up after eight ever later attempts', async (t) => {
  const times: number[] = []
  const { link, clock } = await begin(
    t,
    (seen) => stream(seen).end('id: 1\ndata:\n\n'),
    (seen) => {
      times.push(clock.now())
      stream(seen).end(': nothing yet\n\n')
    },
  )
  link.send(1, buildRequest(1, 'tools/call'))
  const error = await untilDone(clock, lost(link, 1))
  assert.equal([error.code, error.retryable], ['CONNECTION_LOST', true])
  assert.is(times.length, 8)
  assert.ok(Number(times[7]) - Number(times[6]) >= 15_000)
})

test('a missing rest loses the request, a missing session the connection', async (t) => {
  const { link, clock } = await begin(
    t,
    (seen) => stream(seen).end('retry: 1\nid: 1\ndata:\n\n'),
    (seen, number) => status(seen, number === 1 ? 400 : 404),
  )
  link.send(1, buildRequest(1, 'tools/call'))
  assert.is((await untilDone(clock, lost(link, 1))).code, 'CONNECTION_LOST')
  link.send(1, buildRequest(2, 'tools/call'))
  assert.is((await untilDone(clock, link.closed())).error?.code, 'SESSION_NOT_FOUND')
})

test('an answer with a method field is an answer and ends the resuming', async (t) => {
  const { server, link, clock } = await begin(
    t,
    (seen) => stream(seen).end(event(result(seen, { structuredContent: { method: 'GET', id: 7 } }), '1')),
    (seen) => status(seen, 400),
  )
  link.send(1, buildRequest(7, 'tools/call'))
  assert.is((await link.message()).id, 7)
  await link.news.next((one) => one.type === 'lost' && one.id === 7)
  await clock.advance(60_000)
  assert.is(server.seen.all.filter(({ method }) => method === 'GET').length, 0)
})

test('a request cancelled during resume is not asked for again', async (t) => {
  const { server, link, clock } = await begin(
    t,
    (seen) => stream(seen).end('retry: 5000\nid: 1\ndata:\n\n'),
    (seen) => status(seen, 400),
  )
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  link.send(1, buildRequest(1, 'tools/call'))
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  link.send(1, buildNotification('notifications/cancelled', { requestId: 1 }))
  await lost(link, 1)
  await clock.advance(60_000)
  assert.is(server.seen.all.filter(({ method }) => method === 'GET').length, 0)
})

test.run()
