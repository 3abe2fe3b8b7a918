import * as assert from 'uvu/assert'
import { withClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { until } from 'caduceus/testing'
import { http } from 'caduceus/transports'
import { freePort } from '../support/free-port.js'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { end, greet, json, listen, polite, result, type Seen, status, stream } from '../transports/_http.js'
import { rejection, watch } from './_raw.js'

const test = suite('client over http')

/** Answers `ping`, `tools/list` and tools called `echo`; everything else hangs. */
function useful(seen: Seen): void {
  const { method, params } = seen.message
  if (method === 'ping') json(seen, result(seen, {}))
  else if (method === 'tools/list') json(seen, result(seen, { tools: [] }))
  else if (params?.name === 'echo') json(seen, result(seen, { content: [{ type: 'text', text: 'echo' }] }))
}

/** A server that can forget its sessions, as one does that was restarted. */
function forgetful() {
  let session = 1
  const handle = (seen: Seen): unknown => {
    const { message, headers, method } = seen
    if (message.method === 'initialize') return greet(seen, `session-${session}`)
    if (headers['mcp-session-id'] !== `session-${session}`) return status(seen, 404)
    return method === 'GET' ? status(seen, 405) : polite(useful)(seen)
  }
  const forget = (): void => {
    session += 1
  }
  return { handle, forget }
}

test('a one-off client connects, calls, and leaves nothing behind', async (t) => {
  const server = await listen(t, polite(useful))
  const text = await withClient(
    { transport: http(server.url), logger: false },
    async (client) => (await client.callTool('echo')).text,
  )
  assert.is(text, 'echo')
  const verbs = server.seen.all.map(({ method, message }) => message.method ?? method)
  assert.equal(
    verbs.filter((verb) => verb !== 'GET'),
    ['initialize', 'notifications/initialized', 'tools/call', 'DELETE'],
  )
})

test('a one-off client is closed when the function throws, and when it is never ready', async (t) => {
  const server = await listen(t, polite(useful))
  const failing = withClient({ transport: http(server.url), logger: false }, () => {
    throw new Error('a bug')
  })
  assert.is((await rejection(failing)).message, 'a bug')
  await server.seen.next(({ method }) => method === 'DELETE')
  const clock = createFakeClock()
  const transport = http(`http://127.0.0.1:${await freePort()}/`)
  const refused = until('client.state', ({ client, delay }) => client === 'away' && delay !== undefined)
  const never = rejection(
    withClient({ name: 'away', transport, timeout: 100, clock, logger: false }, () => {}),
  )
  await refused
  await clock.advance(100)
  const error = await never
  assert.is(error.code, 'NOT_READY')
  assert.match(error.message, /ECONNREFUSED/)
})

test('a forgotten session: one new handshake, reads are retried, other calls reject', async (t) => {
  const server = forgetful()
  const { url, seen } = await listen(t, server.handle)
  const { client, states } = watch(t, { transport: http(url) })
  await client.ready()
  await seen.next(({ method }) => method === 'GET')
  const held = client.callTool('hang')
  await seen.next(({ message }) => message.method === 'tools/call')
  server.forget()
  assert.equal((await client.listTools()).tools, [])
  const error = await rejection(held)
  assert.is(error.code, 'SESSION_NOT_FOUND')
  assert.equal(error.data, { status: 404, sent: true })
  assert.is(error.retryable, true)
  assert.is(seen.all.filter(({ message }) => message.method === 'initialize').length, 2)
  assert.is(client.inspect().counts.repeated, 1)
  const phases = states.all.map(({ phase }) => phase)
  assert.equal(phases, ['connecting', 'initializing', 'ready', 'connecting', 'initializing', 'ready'])
})

test('a call refused for its session was not run and is retried in a new session', async (t) => {
  const server = forgetful()
  const { url, seen } = await listen(t, server.handle)
  const { client } = watch(t, { transport: http(url) })
  await client.ready()
  await seen.next(({ method }) => method === 'GET')
  server.forget()
  const calls = Array.from({ length: 20 }, () => client.callTool('echo', {}, { timeout: 60_000 }))
  for (const { text } of await Promise.all(calls)) assert.is(text, 'echo')
  const made = seen.all.filter(({ message }) => message.method === 'tools/call')
  assert.is(made.filter(({ headers }) => headers['mcp-session-id'] === 'session-2').length, 20)
  assert.is(client.inspect().counts.sessions, 2)
})

test('a call refused for its session after three new sessions rejects with that', async (t) => {
  let session = 0
  const { url, seen } = await listen(t, (one) => {
    if (one.message.method === 'initialize') return greet(one, `session-${++session}`)
    if (one.method === 'GET') return status(one, 405)
    return status(one, one.message.id === undefined ? 202 : 404)
  })
  const { client } = watch(t, { transport: http(url, { stream: false }) })
  const error = await rejection(client.callTool('echo'))
  assert.equal([error.code, error.data], ['SESSION_NOT_FOUND', { status: 404, sent: true }])
  assert.is(seen.all.filter(({ message }) => message.method === 'tools/call').length, 4)
})

test('a server that forgets every session at once is not flooded with handshakes', async (t) => {
  const { url, seen } = await listen(t, (one) => {
    if (one.message.method === 'initialize') return greet(one)
    return status(one, one.method === 'GET' || one.message.id !== undefined ? 404 : 202)
  })
  const clock = createFakeClock()
  const { client, states } = watch(t, {
    transport: http(url),
    clock,
    backoff: { base: 60_000, cap: 60_000, random: () => 1 },
  })
  const error = rejection(client.ping({ timeout: 300 }))
  const waiting = await states.next(({ phase }) => phase === 'disconnected')
  // a call waits: otherwise it would be a minute
  assert.is(waiting.delay, 1_000)
  await clock.advance(300)
  assert.ok(['TIMEOUT', 'SESSION_NOT_FOUND'].includes(String((await error).code)))
  assert.is(seen.all.filter(({ message }) => message.method === 'initialize').length, 2)
})

test('calls wait while the server is unreachable, and the session continues', async (t) => {
  const first = await listen(t, polite(useful))
  const port = Number(new URL(first.url).port)
  const { client, states } = watch(t, { transport: http(first.url), backoff: { base: 20, cap: 20 } })
  // ready is who has greeted; from here on the server has taken that, too
  await client.ping()
  await end(first.server)
  const call = client.callTool('echo')
  const lost = await states.next(({ phase }) => phase === 'disconnected')
  assert.match(lost.reason?.message ?? '', /ECONNREFUSED/)
  const second = await listen(t, polite(useful), port)
  assert.is((await call).text, 'echo')
  await states.next(({ phase }) => phase === 'ready')
  assert.equal(
    second.seen.all.map(({ message, headers }) => [message.method, headers['mcp-session-id']]),
    [
      ['ping', 'session-1'],
      ['tools/call', 'session-1'],
    ],
  )
})

test('a server back without the session gets one handshake in the backoff, then calls', async (t) => {
  const first = await listen(t, polite(useful))
  const port = Number(new URL(first.url).port)
  const { client, states } = watch(t, { transport: http(first.url), backoff: { base: 20, cap: 20 } })
  // ready is who has greeted; from here on the server has taken that, too
  await client.ping()
  await end(first.server)
  const call = client.callTool('echo')
  await states.next(({ phase }) => phase === 'disconnected')
  const fresh = forgetful()
  fresh.forget()
  const second = await listen(t, fresh.handle, port)
  assert.is((await call).text, 'echo')
  assert.is(client.state.phase, 'ready')
  assert.equal(
    second.seen.all
      .filter(({ method }) => method === 'POST')
      .map(({ message, headers }) => [message.method, headers['mcp-session-id']]),
    [
      ['ping', 'session-1'],
      ['initialize', undefined],
      ['notifications/initialized', 'session-2'],
      ['tools/call', 'session-2'],
    ],
  )
})

test('a server that comes up late is found', async (t) => {
  const port = await freePort()
  const { client, phase } = watch(t, {
    transport: http(`http://127.0.0.1:${port}/mcp`),
    backoff: { base: 20, cap: 20 },
  })
  const call = client.callTool('echo')
  await phase('disconnected')
  await listen(t, polite(useful), port)
  assert.is((await call).text, 'echo')
})

test('401 fails the client at once, with the cause', async (t) => {
  const { url } = await listen(t, (seen) => status(seen, 401))
  const { client } = watch(t, { transport: http(url) })
  const error = await rejection(client.ping())
  assert.equal(
    [error.code, (error.cause as { code: string }).code, error.retryable],
    ['CONNECT_FAILED', 'UNAUTHORIZED', false],
  )
})

test('401 during a session is permanent, also for calls in flight', async (t) => {
  const { url, seen } = await listen(
    t,
    polite((one) => (one.message.params?.name === 'hang' ? undefined : status(one, 401))),
  )
  const { client, phase } = watch(t, { transport: http(url) })
  const held = client.callTool('hang')
  await seen.next(({ message }) => message.method === 'tools/call')
  const told = await Promise.all([rejection(held), rejection(client.callTool('echo'))])
  for (const error of told) {
    assert.equal([error.code, error.retryable], ['CONNECTION_LOST', false])
    assert.is((error.cause as { code: string }).code, 'UNAUTHORIZED')
    assert.is((error.data as { sent: boolean }).sent, true)
  }
  await phase('failed')
})

for (const kind of ['none', 'a token', 'several tokens']) {
  test(`401 to a call alone fails that call, and no other, with ${kind}`, async (t) => {
    const tokens = ['one', 'two', 'three', 'four', 'five']
    const auth = { none: undefined, 'a token': 'secret', 'several tokens': () => tokens.shift() ?? 'last' }[
      kind
    ]
    const held = heard<Seen>()
    const { url, seen } = await listen(
      t,
      polite((one) => {
        const { params } = one.message
        if (params?.name === 'guarded') return status(one, 401, { 'www-authenticate': 'Bearer' })
        return params?.name === 'hang' ? void held.add(one) : useful(one)
      }),
    )
    const { client } = watch(t, { transport: http(url, { ...(auth !== undefined && { auth }) }) })
    const hanging = client.callTool('hang')
    const other = await held.next()
    const errors = await Promise.all([1, 2, 3].map(() => rejection(client.callTool('guarded'))))
    for (const error of errors) {
      assert.equal([error.code, error.retryable], ['REQUEST_FAILED', false])
      assert.match(error.message, /401/)
      assert.is((error.cause as { code: string }).code, 'UNAUTHORIZED')
    }
    json(other, result(other, { content: [{ type: 'text', text: 'at last' }] }))
    assert.is((await hanging).text, 'at last')
    assert.is((await client.callTool('echo')).text, 'echo')
    assert.is(seen.all.filter(({ message }) => message.method === 'initialize').length, 1)
  })
}

test('a refused request fails its call only, with the status', async (t) => {
  const { url } = await listen(
    t,
    polite((seen) =>
      seen.message.method === 'ping' ? useful(seen) : status(seen, 503, { 'retry-after': '7' }),
    ),
  )
  const { client } = watch(t, { transport: http(url) })
  const error = await rejection(client.callTool('echo'))
  assert.equal([error.code, error.retryable], ['REQUEST_FAILED', true])
  assert.equal(error.data, { status: 503, error: undefined, retryAfter: '7', sent: true })
  await client.ping()
})

test('a response that ends without an answer rejects at once', async (t) => {
  const { url } = await listen(
    t,
    polite((seen) => stream(seen).end(': nothing\n\n')),
  )
  const { client } = watch(t, { transport: http(url) })
  const error = await rejection(client.callTool('echo', {}, { timeout: 60_000 }))
  assert.equal([error.code, error.data], ['CONNECTION_LOST', { sent: true }])
})

test('notifications use the stream, progress the response of its call', async (t) => {
  const news = heard<object>()
  const { url } = await listen(t, (seen) => {
    const change = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
    if (seen.method === 'GET') return void stream(seen).write(change)
    return polite(() => {
      const progressToken = (seen.message.params?._meta as { progressToken: number } | undefined)
        ?.progressToken
      const progress = {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: 1 },
      }
      const answer = result(seen, { content: [] })
      stream(seen).end(`data: ${JSON.stringify(progress)}\n\ndata: ${JSON.stringify(answer)}\n\n`)
    })(seen)
  })
  const { client } = watch(t, { transport: http(url) })
  client.onNotification('notifications/tools/list_changed', news.add)
  const progress: number[] = []
  await client.callTool('slow', {}, { onProgress: (report) => progress.push(report.progress) })
  assert.equal(progress, [1])
  await news.next()
})

test.run()
