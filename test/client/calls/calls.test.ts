import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { http, type TransportError } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { greet, json, listen, polite, result, type Seen, status, stream } from '../../transports/_http.js'
import { near } from '../_near.js'
import { rejection, watch, watchNear } from '../_raw.js'

const test = suite('calls of a client')

function called({ message }: Seen): boolean {
  return message.method === 'tools/call'
}

function answer(seen: Seen, text = 'done'): void {
  json(seen, result(seen, { content: [{ type: 'text', text }] }))
}

/** A call that tells progress when the test says so. */
async function progressing(t: Parameters<typeof watch>[0], options: object) {
  const clock = createFakeClock()
  const { url, seen } = await listen(
    t,
    polite(() => {}),
  )
  const { client } = watch(t, { transport: http(url, { stream: false }), clock, era: 'handshake' })
  await client.ready()
  const reports = heard<unknown>()
  const call = rejection(client.callTool('long', {}, { timeout: 1_000, onProgress: reports.add, ...options }))
  const one = await seen.next(called)
  const out = stream(one)
  const meta = one.message.params?._meta as { progressToken: number } | undefined
  const progressToken = meta?.progressToken
  let progress = 0
  const report = async (): Promise<void> => {
    progress += 1
    const params = { progressToken, progress }
    out.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`)
    await reports.next()
  }
  t.after(() => out.end())
  return { clock, call, report }
}

test('progress restarts the timeout of a call on request, up to its total limit', async (t) => {
  const { clock, call, report } = await progressing(t, { resetOnProgress: true, totalTimeout: 2_500 })
  let over = false
  void call.then(() => {
    over = true
  })
  for (let i = 0; i < 3; i++) {
    await clock.advance(800)
    assert.not.ok(over)
    await report()
  }
  await clock.advance(200)
  assert.is((await call).code, 'TIMEOUT')
})

test('progress alone does not extend the timeout of a call', async (t) => {
  const { clock, call, report } = await progressing(t, {})
  await clock.advance(800)
  await report()
  await clock.advance(300)
  assert.is((await call).code, 'TIMEOUT')
})

test('a repeatable call is retried once when its answer got lost', async (t) => {
  let breaks = 1
  const { url, seen } = await listen(
    t,
    polite((one) => {
      if (breaks-- > 0) one.response.destroy()
      else answer(one)
    }),
  )
  const { client } = watch(t, { transport: http(url, { stream: false }) })
  assert.is((await client.callTool('any', {}, { retry: 'safe' })).text, 'done')
  breaks = 2
  assert.is((await rejection(client.callTool('any', {}, { retry: 'safe' }))).code, 'CONNECTION_LOST')
  breaks = 1
  assert.is((await rejection(client.callTool('any'))).code, 'CONNECTION_LOST')
  assert.is(seen.all.filter(called).length, 5)
  assert.is(client.inspect().counts.repeated, 2)
})

test('a repeatable call is retried on the next process when the server dies once', async (t) => {
  const { client, said } = watch(t)
  const first = Number((await client.callTool('pid')).text)
  const call = client.callTool('hang', {}, { retry: 'safe' })
  void call.catch(() => {})
  await said.next((line) => line === 'got tools/call hang')
  process.kill(first, 'SIGKILL')
  await said.next((line) => line === 'got tools/call hang')
  const second = Number((await client.callTool('pid')).text)
  process.kill(second, 'SIGKILL')
  assert.is((await rejection(call)).code, 'CONNECTION_LOST')
})

test('a call refused for its session is retried in the next one, unless told never', async (t) => {
  let session = 1
  const { url, seen } = await listen(t, (one) => {
    const { message, headers, method } = one
    if (message.method === 'initialize') return greet(one, `session-${session}`)
    if (headers['mcp-session-id'] !== `session-${session}`) return status(one, 404)
    return polite((call) => {
      const tool = (name: string, annotations: object) => ({
        name,
        annotations,
        inputSchema: { type: 'object' },
      })
      const tools = [
        tool('same', { idempotentHint: true }),
        tool('reads', { readOnlyHint: true }),
        tool('adds', {}),
      ]
      if (message.method === 'tools/list') json(call, result(call, { tools }))
      else answer(call)
    })(method === 'POST' ? one : { ...one, method })
  })
  const { client } = watch(t, {
    transport: http(url, { stream: false }),
    backoff: { base: 1, cap: 1, stable: 1 },
  })
  const forget = async (): Promise<void> => {
    await client.listTools()
    session += 1
  }
  for (const name of ['same', 'reads']) {
    await forget()
    assert.is((await client.callTool(name)).text, 'done')
  }
  await forget()
  assert.is((await client.callTool('adds')).text, 'done')
  await forget()
  const error = await rejection(client.callTool('same', {}, { retry: 'never' }))
  assert.equal(
    [error.code, error.data, error.retryable],
    ['SESSION_NOT_FOUND', { status: 404, sent: true }, true],
  )
  await client.ping()
  await forget()
  assert.is((await client.callTool('adds', {}, { retry: 'safe' })).text, 'done')
  assert.ok(seen.all.length > 0)
})

test('a busy server is retried after its Retry-After, within the retry budget', async (t) => {
  const clock = createFakeClock()
  let busy = 1
  const { url, seen } = await listen(
    t,
    polite((one) => {
      if (busy-- > 0) status(one, busy % 2 === 0 ? 429 : 503, { 'retry-after': '2' })
      else answer(one)
    }),
  )
  const { client } = watch(t, {
    transport: http(url, { stream: false }),
    clock,
    retryBudget: { perMinute: 1 },
  })
  await client.ready()
  const call = client.callTool('any')
  await seen.next(called)
  while (client.inspect().counts.repeated === 0) await new Promise(setImmediate)
  await clock.advance(1_900)
  assert.is(seen.all.filter(called).length, 1)
  await clock.advance(200)
  assert.is((await call).text, 'done')
  busy = 1
  const error = await rejection(client.callTool('any'))
  assert.is(error.code, 'REQUEST_FAILED')
  assert.is((error.data as { status: number }).status, 429)
})

test('no retry without Retry-After, or with one beyond the deadline of the call', async (t) => {
  const headers = [{}, { 'retry-after': '3600' }, { 'retry-after': 'soon' }]
  const { url, seen } = await listen(
    t,
    polite((one) => status(one, 429, headers.shift() ?? {})),
  )
  const { client } = watch(t, { transport: http(url, { stream: false }), retryBudget: { perMinute: 10 } })
  for (let i = 0; i < 3; i++) assert.is((await rejection(client.callTool('any'))).code, 'REQUEST_FAILED')
  assert.is(seen.all.filter(called).length, 3)
})

test('a server without pongs is restarted, and its calls reject with the reason', async (t) => {
  const { client, states, phase } = watch(t, { health: { every: 200, misses: 3 } })
  const pid = Number((await client.callTool('pid')).text)
  process.kill(pid, 'SIGSTOP')
  const lost = rejection(client.callTool('count'))
  const { reason } = await states.next((state) => state.reason !== undefined)
  assert.match(reason?.message ?? '', 'no sign of life: 3 questions in a row')
  const { code, message, data } = await lost
  assert.equal([code, data], ['CONNECTION_LOST', { sent: true }])
  assert.is(message, `tools/call: ${reason?.message}`)
  await phase('ready')
  assert.is.not(Number((await client.callTool('pid')).text), pid)
})

test('the timeout of an answered question sends no cancellation', async (t) => {
  const clock = createFakeClock()
  const { transport, said, cut } = near(undefined, { logging: {} })
  const options = { transport, clock, timeout: 5_000, health: { every: 1_000, misses: 1 } }
  const { client, phase } = watch(t, options)
  await client.setLevel('warning')
  const away = phase('disconnected')
  cut()
  await away
  await clock.advance(20_000)
  await client.ping()
  assert.is(said.filter((method) => method === 'logging/setLevel').length, 2)
  assert.ok(said.filter((method) => method === 'ping').length > 10)
  assert.not.ok(said.includes('notifications/cancelled'))
})

test('a connection that ends without a reason is CONNECTION_LOST', async (t) => {
  const { transport, cut } = near(({ method }) => (method === 'ping' ? { result: {} } : undefined))
  const { client } = watch(t, { transport })
  await client.ready()
  const call = rejection(client.request('x/hang'))
  await client.ping()
  cut()
  const { code, cause } = await call
  assert.equal([code, (cause as TransportError).code], ['CONNECTION_LOST', 'CONNECTION_LOST'])
  assert.is((cause as Error).message, 'the connection ended')
})

test('a server that answers pings is kept', async (t) => {
  const { client, said } = watchNear(t, { health: { every: 200, misses: 5 } })
  const pid = (await client.callTool('who')).text
  for (let i = 0; i < 3; i++) await said.next((line) => line === 'got ping')
  assert.is((await client.callTool('who')).text, pid)
})

test('level and subscriptions are restored in a new session before waiting calls', async (t) => {
  const { client, said, phase } = watch(t)
  await client.setLevel('warning')
  await client.subscribe('a:1')
  await client.subscribe('a:2')
  await client.unsubscribe('a:1')
  const pid = Number((await client.callTool('pid')).text)
  const before = said.all.length
  process.kill(pid, 'SIGKILL')
  await phase('disconnected')
  await client.callTool('echo', { text: 'x' })
  await said.next((line) => line === 'got tools/call echo')
  const told = said.all.slice(before).filter((line) => line.startsWith('told') || line.includes('echo'))
  assert.equal(told, ['told logging/setLevel warning', 'told resources/subscribe a:2', 'got tools/call echo'])
})

test('an unknown log level is refused in the caller', async (t) => {
  const { client } = watchNear(t)
  assert.is((await rejection(client.setLevel('loud' as never))).code, 'BAD_OPTION')
  assert.is((await rejection(client.subscribe(''))).code, 'BAD_OPTION')
})

test.run()
