import { type AddressInfo, createServer } from 'node:net'
import * as assert from 'uvu/assert'
import { buildRequest } from 'caduceus/protocol'
import { http } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { begin, event, lost, untilDone } from '../../_answers.js'
import { end, json, result, type Seen, status, stream } from '../../_http.js'
import { startLink } from '../../_link.js'

const test = suite('answers that are cut off')

const news = { jsonrpc: '2.0', method: 'notifications/message', params: {} }

test('a server that dies during an answer fails its caller within half a second', async (t) => {
  const { server, link, clock } = await begin(
    t,
    (seen) => void stream(seen).write(event(news, '1')),
    () => {},
  )
  link.send(1, buildRequest(1, 'tools/call'))
  await link.message()
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  const told = lost(link, 1)
  await end(server.server)
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(500)
  const error = await told
  assert.equal([error.code, error.retryable], ['CONNECTION_LOST', true])
  assert.match(error.message, /the server is gone/)
})

test('answers waiting to resume fail at once when any connect is refused', async (t) => {
  const { server, link, clock } = await begin(
    t,
    (seen) => stream(seen).end(`retry: 60000\n${event(news, '1')}`),
    () => {},
  )
  while (clock.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  const ids = Array.from({ length: 12 }, (_, i) => i + 1)
  for (const id of ids) link.send(1, buildRequest(id, 'tools/call'))
  while (clock.pending < ids.length) await new Promise((resolve) => setImmediate(resolve))
  await end(server.server)
  link.send(1, buildRequest(99, 'ping'))
  const errors = new Map<unknown, string>()
  while (![...ids, 99].every((id) => errors.has(id))) {
    const news = await link.news.next(({ type }) => type === 'lost')
    if (news.type === 'lost') errors.set(news.id, news.error.code)
  }
  assert.is(errors.get(99), 'CONNECT_FAILED')
  for (const id of ids) assert.is(errors.get(id), 'CONNECTION_LOST', `${id}`)
  assert.is(clock.now(), 0)
})

test('a network that stays cut is retried fast, for ten seconds', async (t) => {
  const times: number[] = []
  const { server, link, clock } = await begin(
    t,
    (seen) => void stream(seen).write(event(news, '1')),
    ({ response }) => {
      times.push(clock.now())
      response.socket?.resetAndDestroy()
    },
  )
  link.send(1, buildRequest(1, 'tools/call'))
  const { response } = await server.seen.next(({ message }) => message.id === 1)
  await link.message()
  response.socket?.resetAndDestroy()
  const error = await untilDone(clock, lost(link, 1))
  assert.equal([error.code, error.retryable], ['CONNECTION_LOST', true])
  assert.ok(times.length >= 6, `${times}`)
  assert.ok(Number(times[0]) <= 1_000 && Number(times.at(-1)) <= 11_000, `${times}`)
})

test('a network that heals in time brings the answer', async (t) => {
  let asked: Seen | undefined
  const { link, clock } = await begin(
    t,
    (seen) => {
      asked = seen
      stream(seen).write(event(news, '1'))
    },
    (seen, number) => {
      if (number < 4) seen.response.socket?.destroy()
      else if (asked !== undefined) stream(seen).end(event(result(asked, {}), '2'))
    },
  )
  link.send(1, buildRequest(1, 'tools/call'))
  await link.message()
  asked?.response.destroy()
  assert.is((await untilDone(clock, link.message())).id, 1)
})

const lastWords: { readonly [What in string]: (seen: Seen) => unknown } = {
  '204': (seen) => status(seen, 204),
  'JSON instead of a stream': (seen) => json(seen, {}),
  '403': (seen) => status(seen, 403),
  '405': (seen) => status(seen, 405),
  '410': (seen) => status(seen, 410),
  '501': (seen) => status(seen, 501),
  'a redirect to another scheme': (seen) => status(seen, 307, { location: 'ftp://127.0.0.1/' }),
}

for (const [what, answer] of Object.entries(lastWords)) {
  test(`a resume answered with ${what} fails the call`, async (t) => {
    let asked = 0
    const { link, clock } = await begin(
      t,
      (seen) => stream(seen).end('id: 1\ndata:\n\n'),
      (seen) => {
        asked += 1
        answer(seen)
      },
    )
    link.send(1, buildRequest(1, 'tools/call'))
    const { code } = await untilDone(clock, lost(link, 1))
    assert.ok(code === 'CONNECTION_LOST' || code === 'HTTP_STATUS', code)
    assert.is(asked, 1)
  })
}

test('a server in trouble is asked again when it says, unless that is too long', async (t) => {
  const times: number[] = []
  const waits = ['5', '3600']
  const { link, clock } = await begin(
    t,
    (seen) => stream(seen).end('id: 1\ndata:\n\n'),
    (seen) => {
      times.push(clock.now())
      status(seen, 503, { 'retry-after': waits[times.length - 1] ?? '0' })
    },
  )
  link.send(1, buildRequest(1, 'tools/call'))
  const { code, message } = await untilDone(clock, lost(link, 1))
  assert.is(code, 'CONNECTION_LOST')
  assert.match(message, /503/)
  assert.is(times.length, 2)
  assert.ok(Number(times[1]) - Number(times[0]) >= 5_000, `${times}`)
})

test('a request with a broken TLS handshake was not sent', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const link = await startLink(t, http(`https://127.0.0.1:${port}/`, { stream: false }))
  link.open(1)
  link.send(1, buildRequest(1, 'tools/call'))
  assert.is((await lost(link, 1)).code, 'CONNECT_FAILED')
})

test.run()
