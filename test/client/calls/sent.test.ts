import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { http, sse } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { end, greet, json, listen, polite, result, type Seen, status } from '../../transports/_http.js'
import { refuse, stateless } from '../_modern.js'
import { near } from '../_near.js'
import { rejection, watch, watchNear } from '../_raw.js'

const test = suite('whether a call was sent')

function called({ message }: Seen): boolean {
  return message.method === 'tools/call'
}

/** A client whose call was seen by a server that died of it; its repetition waits for a server. */
async function repeating(t: Parameters<typeof watch>[0], options: object = {}) {
  const clock = createFakeClock()
  const { url, seen, server } = await listen(
    t,
    polite((one) => (called(one) ? undefined : json(one, result(one, {})))),
  )
  const watched = watch(t, {
    transport: http(url, { stream: false }),
    clock,
    backoff: { base: 1_000_000, cap: 1_000_000, random: () => 1 },
  })
  await watched.client.ready()
  const call = rejection(watched.client.callTool('pay', {}, { retry: 'safe', ...options }))
  await seen.next(called)
  const away = watched.phase('disconnected')
  await end(server)
  await away
  return { ...watched, clock, call }
}

test('a lost call stays sent when it times out while it waits for its retry', async (t) => {
  const { clock, call } = await repeating(t, { timeout: 5_000 })
  await clock.advance(5_000)
  const error = await call
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['TIMEOUT', true])
  assert.match(error.message, /its answer got lost, and it was not sent again within 5000 ms/)
})

test('a lost call stays sent when it is aborted while it waits for its retry', async (t) => {
  const controller = new AbortController()
  const { call } = await repeating(t, { signal: controller.signal })
  controller.abort()
  const error = await call
  assert.equal([error.code, error.data], ['CANCELLED', { sent: true }])
})

test('a lost call stays sent when the client closes while it waits for its retry', async (t) => {
  const { client, call } = await repeating(t)
  await client.close()
  const error = await call
  assert.equal([error.code, error.data], ['CLOSED', { sent: true }])
})

test('a lost call stays sent when the client crashes while it waits for its retry', async (t) => {
  const { call, client, kill } = await repeating(t)
  const over = rejection(client.closed)
  while (client.state.reason?.message.includes('too often') !== true && client.state.phase !== 'failed') {
    kill('client')
    await new Promise(setImmediate)
  }
  await over
  assert.equal([(await call).code, ((await call).data as { sent: boolean }).sent], ['GAVE_UP', true])
})

test('a repeatable call is retried after a crash of its client, too', async (t) => {
  const { client, said, kill } = watchNear(t)
  await client.ready()
  const call = client.callTool('hang', {}, { retry: 'safe' })
  const once = rejection(client.callTool('hang'))
  void call.catch(() => {})
  for (const _ of [1, 2]) await said.next((line) => line === 'got tools/call hang')
  kill('client')
  const error = await once
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['CONNECTION_LOST', true])
  await said.next((line) => line === 'got tools/call hang')
  assert.is(client.inspect().counts.repeated, 1)
})

test('a call refused for its headers counts as sent when the tool list fails', async (t) => {
  const { url } = await listen(
    t,
    stateless((one) => (called(one) ? refuse(one, -32020) : status(one, 429))),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  const error = await rejection(client.callTool('pay'))
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['REQUEST_FAILED', true])
})

test('a call redirected to an unreachable host counts as sent', async (t) => {
  const { url: nowhere, server } = await listen(t, () => {})
  await end(server)
  const { url } = await listen(
    t,
    polite((one) => {
      if (called(one)) one.response.writeHead(307, { location: nowhere }).end()
      else json(one, result(one, {}))
    }),
  )
  const transport = http(url, { stream: false })
  const { client } = watch(t, { transport, backoff: { base: 1, cap: 1 } })
  const error = await rejection(client.callTool('pay'))
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['REQUEST_FAILED', true])
})

test('a call without a token to be had counts as unsent', async (t) => {
  let asks = 0
  const { url, seen } = await listen(
    t,
    polite((one) => json(one, result(one, {}))),
  )
  const auth = {
    authorize: () => {
      if (++asks > 2) throw Object.assign(new Error('the vault is locked'), { retryable: true })
      return {}
    },
  }
  const { client } = watch(t, { transport: http(url, { stream: false, auth }) })
  await client.ready()
  const error = await rejection(client.callTool('pay'))
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['REQUEST_FAILED', false])
  assert.not.ok(seen.all.some(called))
})

test('calls that wait for a free connection when the session ends use the next one', async (t) => {
  let session = 1
  const { url, seen } = await listen(t, (one) => {
    if (one.message.method === 'initialize') return greet(one, `session-${session}`)
    if (one.headers['mcp-session-id'] !== `session-${session}`) return status(one, 404)
    return polite((call) => (session === 1 ? undefined : json(call, result(call, { content: [] }))))(one)
  })
  const { client } = watch(t, { transport: http(url, { stream: false, limits: { connections: 1 } }) })
  await client.ready()
  const first = rejection(client.callTool('first'))
  await seen.next(called)
  const second = client.callTool('second')
  session += 1
  client.notify('notifications/roots/list_changed').catch(() => {})
  assert.equal([(await first).code, (await first).data], ['SESSION_NOT_FOUND', { status: 404, sent: true }])
  await second
  assert.equal(
    seen.all.filter(called).map(({ message }) => message.params?.name),
    ['first', 'second'],
  )
})

test('an HTTP+SSE post that cannot connect counts as unsent', async (t) => {
  const said = heard<string>()
  let writes: (text: string) => void = () => {}
  const { url, server } = await listen(t, (one) => {
    if (one.method === 'GET') {
      one.response.writeHead(200, { 'content-type': 'text/event-stream' })
      one.response.write('event: endpoint\ndata: /post\n\n')
      writes = (text) => void one.response.write(`data: ${text}\n\n`)
      return
    }
    said.add(String(one.message.method))
    one.response.writeHead(202, { connection: 'close' }).end()
    if (one.message.method !== 'initialize') return
    writes(
      JSON.stringify(
        result(one, {
          protocolVersion: '2025-06-18',
          capabilities: {},
          serverInfo: { name: 's', version: '1' },
        }),
      ),
    )
  })
  const { client } = watch(t, { transport: sse(url) })
  await client.ready()
  await said.next((method) => method === 'notifications/initialized')
  server.close()
  const error = await rejection(client.callTool('pay', {}, { timeout: 300 }))
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['TIMEOUT', false])
})

test.slow('an aborted call that rejects as unsent never reaches the server', async (t) => {
  const { transport, said } = near(({ method }) => (method === 'ping' ? { result: {} } : undefined))
  const { client } = watch(t, { transport })
  await client.ready()
  let unsent = 0
  for (let moment = 0; moment < 4; moment++) {
    // more than one turn of the event loop takes: some are on their way to the transport when it ends
    const methods = Array.from({ length: 1_000 }, (_, call) => `x/${moment}/${call}`)
    const controller = new AbortController()
    const { signal } = controller
    const calls = methods.map((method) => rejection(client.request(method, {}, { signal })))
    for (let turn = 0; turn < moment; turn++) await undefined
    controller.abort()
    const errors = await Promise.all(calls)
    await client.ping() // whatever was on its way has left by now
    const seen = new Set(said)
    for (const [index, { data }] of errors.entries()) {
      const { sent } = data as { sent: boolean }
      if (sent) continue
      unsent += 1
      assert.not.ok(seen.has(methods[index] as string), `after ${moment} turns`)
    }
  }
  assert.ok(unsent > 0)
})

test.run()
