import { connect, createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { ClientError, type ClientState, startClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { http, serveHttp, serveWebSocket, websocket } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { json, listen, polite, result, type Seen, stream } from '../transports/_http.js'
import { startSuiteServer } from '../transports/_suite-server.js'
import { rejection, watch } from './_raw.js'

const test = suite('clients on bad networks', { timeout: 20_000 })

/** What becomes of one connection through a relay. */
type Fate = 'kept' | 'refused' | 'cut at the request' | 'cut at the answer'

/** Starts a relay to a port, which treats its connections one after the other as `fate` says; while it is frozen nothing gets through, and nobody is told. */
async function relay(t: TestContext, port: number, fate: () => Fate = () => 'kept') {
  const open = new Set<Socket>()
  const count = { all: 0, cut: 0 }
  let isFrozen = false
  const server = createServer((client) => {
    const what = fate()
    count.all += 1
    if (what !== 'kept') count.cut += 1
    if (what === 'refused') return client.destroy()
    const upstream = connect(port, '127.0.0.1')
    let answers = 0
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
    client.on('data', (chunk) => {
      if (isFrozen) return
      upstream.write(chunk)
      if (what === 'cut at the request') upstream.end(() => client.destroy())
    })
    upstream.on('data', (chunk) => {
      if (isFrozen) return
      if (what === 'cut at the answer')
        return client.end(chunk.subarray(0, 20), () => client.resetAndDestroy())
      client.write(chunk)
      // nobody keeps a good connection for long
      if (++answers >= 4) client.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  const freeze = (on: boolean): void => {
    isFrozen = on
  }
  return { port: (server.address() as AddressInfo).port, count, freeze }
}

test.slow('S055: with 30 % of connections broken, each call has one outcome', async (t) => {
  const ran = new Map<string, number>()
  const server = await listen(
    t,
    polite((seen) => {
      const text = String((seen.message.params?.arguments as { text?: string } | undefined)?.text)
      ran.set(text, (ran.get(text) ?? 0) + 1)
      json(seen, result(seen, { content: [{ type: 'text', text }] }))
    }),
  )
  const fates: Fate[] = [
    'kept',
    'refused',
    'kept',
    'kept',
    'cut at the request',
    'kept',
    'kept',
    'cut at the answer',
    'kept',
    'kept',
  ]
  let next = 0
  const between = await relay(
    t,
    Number(new URL(server.url).port),
    () => fates[next++ % fates.length] ?? 'kept',
  )
  const { client } = watch(t, {
    transport: http(`http://127.0.0.1:${between.port}/mcp`, { stream: false, limits: { connections: 5 } }),
    backoff: { base: 5, cap: 20 },
  })
  const outcomes: (string | ClientError)[] = []
  for (let i = 0; i < 300; i += 10) {
    const calls = Array.from({ length: 10 }, async (_, j) => {
      const text = `text ${i + j}`
      const outcome = await client
        .callTool('echo', { text }, { retry: 'safe' })
        .catch((error: ClientError) => error)
      if (outcome instanceof Error) outcomes.push(outcome)
      else outcomes.push(outcome.text === text ? 'its own' : `${outcome.text} for ${text}`)
    })
    await Promise.all(calls)
  }
  assert.is(outcomes.length, 300)
  const lost = outcomes.filter((outcome) => outcome !== 'its own')
  for (const error of lost) {
    assert.ok(error instanceof ClientError && error.retryable, String(error))
    assert.is((error.data as { sent: boolean }).sent, true)
  }
  assert.ok(between.count.cut / between.count.all > 0.25, JSON.stringify(between.count))
  assert.ok(lost.length < 60, `${lost.length} calls were lost`)
  assert.ok(Math.max(...ran.values()) <= 2, 'a call that may be made twice was made more often')
  assert.is(client.inspect().counts.sessions, 1)
})

test('S052: the timeout of a call overrides that of the client, up or down', async (t) => {
  const clock = createFakeClock()
  const asked = heard<Seen>()
  const server = await listen(t, polite(asked.add))
  const { client } = watch(t, { transport: http(server.url, { stream: false }), timeout: 1_000, clock })
  await client.ready()
  const patient = client.callTool('slow', {}, { timeout: 30_000 })
  const call = await asked.next(({ message }) => message.method === 'tools/call')
  await clock.advance(20_000)
  json(call, result(call, { content: [{ type: 'text', text: 'at last' }] }))
  assert.is((await patient).text, 'at last')
  const hasty = rejection(client.callTool('slow'))
  const { response } = await asked.next(({ message }) => message.method === 'tools/call')
  const closed = new Promise((resolve) => response.once('close', resolve))
  // deadlines are looked at every 16 ms
  await clock.advance(1_016)
  const error = await hasty
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['TIMEOUT', true])
  await closed
})

test('S061: stream messages are delivered as they come, not at the end', async (t) => {
  const reached = heard<number>()
  const server = await listen(
    t,
    polite(async (seen) => {
      const response = stream(seen)
      const { progressToken } = (seen.message.params?._meta ?? {}) as { progressToken?: number }
      for (const progress of [1, 2, 3]) {
        const params = { progressToken, progress }
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`,
        )
        // nothing more is sent until the client has been told of this
        await reached.next((n) => n === progress)
      }
      response.end(`data: ${JSON.stringify(result(seen, { content: [] }))}\n\n`)
    }),
  )
  const { client } = watch(t, { transport: http(server.url, { stream: false }) })
  await client.callTool('x', {}, { onProgress: ({ progress }) => reached.add(progress) })
  assert.equal(reached.all, [1, 2, 3])
})

test('fault 31: a dead socket is detected within 60 s and replaced', async (t) => {
  const server = await startSuiteServer(serveWebSocket())
  t.after(() => server.stop())
  const between = await relay(t, Number(server.port))
  const clock = createFakeClock()
  const client = startClient({
    transport: websocket(`ws://127.0.0.1:${between.port}/mcp`),
    backoff: { base: 1, cap: 1 },
    logger: false,
    timeout: 600_000,
    clock,
  })
  t.after(() => client.close())
  const states = heard<ClientState>()
  client.onState(states.add)
  await client.ready()
  between.freeze(true)
  const call = rejection(client.callTool('echo', { text: 'lost' }))
  await clock.advance(60_000)
  const { reason } = await states.next(({ phase }) => phase === 'disconnected')
  assert.match(String(reason), 'ping')
  between.freeze(false)
  assert.equal(((await call).data as { sent: boolean }).sent, true)
  while (client.state.phase !== 'ready') {
    await clock.advance(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.is((await client.callTool('echo', { text: 'here' })).text, 'here')
})

test('fault 31: pings find a frozen server dead, and it is used again once it thaws', async (t) => {
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  const between = await relay(t, Number(server.port))
  const clock = createFakeClock()
  const client = startClient({
    transport: http(`http://127.0.0.1:${between.port}/mcp`),
    health: { every: 15_000, misses: 2 },
    backoff: { base: 1, cap: 1 },
    logger: false,
    clock,
  })
  t.after(() => client.close())
  const states = heard<ClientState>()
  client.onState(states.add)
  assert.is((await client.callTool('count')).text, '1')
  await states.next(({ phase }) => phase === 'ready')
  between.freeze(true)
  for (let second = 0; second < 60 && client.state.phase === 'ready'; second++) await clock.advance(1_000)
  assert.is.not(client.state.phase, 'ready')
  assert.match(String((await states.next(({ phase }) => phase === 'disconnected')).reason), 'no sign of life')
  between.freeze(false)
  while (client.state.phase !== 'ready') {
    await clock.advance(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.is((await client.callTool('echo', { text: 'here' })).text, 'here')
})

test.run()
