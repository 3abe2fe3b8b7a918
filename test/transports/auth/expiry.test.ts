// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import {
  type Authenticate,
  serveHttp,
  type ServerTransport,
  serveSse,
  serveWebSocket,
} from 'caduceus/transports'
import { initialize, RawClient } from '../../server/_client.js'
import { posted } from '../../server/_stateless.js'
import { slowness } from '../../support/allowance.mjs'
import { suite, type TestContext } from '../../support/suite.js'
import { greet, open } from '../websocket/_websocket.js'

const test = suite('the end of an authorization', { timeout: 15_000 })

/** Milliseconds that are enough to shake hands, also on a busy machine. */
const life = Math.ceil(200 * slowness())

/** Milliseconds from one sign of life to the next, which have to be enough for the far side to answer. */
const beat = Math.ceil(100 * slowness())

/** What is known is true for that long from each request on, or for ever. */
const authenticate: Authenticate = ({ headers }) => ({
  issuer: 'test',
  subject: 'ada',
  ...(headers.authorization === 'short' && { expiresAt: Date.now() + life }),
})
const [short, long] = [{ authorization: 'short' }, { authorization: 'long' }]

async function start(t: TestContext, transport: ServerTransport) {
  const definition = defineServer({ name: 'test', version: '1', tools: [] })
  const server = await startServer(definition, { transport, logger: false })
  t.after(() => server.stop())
  return server
}

test('HTTP: the stream of a session ends, and the session goes on', async (t) => {
  const server = await start(t, serveHttp({ authenticate, streams: { commentInterval: beat } }))
  const client = new RawClient(t, server.url)
  client.own = long
  await client.open()
  const [ends, stays] = [await client.listen(short), await client.listen()]
  await ends.ended
  assert.is((await client.ask('ping')).error, undefined)
  const before = stays.comments()
  while (stays.comments() < before + 2) await client.ask('ping')
  stays.close()
})

test('HTTP: a subscription of 2026-07-28 ends with its result', async (t) => {
  const server = await start(t, serveHttp({ authenticate }))
  const client = new RawClient(t, server.url)
  const { body, headers } = posted('subscriptions/listen', { notifications: { toolsListChanged: true } })
  client.own = { ...headers, ...short }
  const stream = await client.stream(body)
  assert.is((await stream.next()).method, 'notifications/subscriptions/acknowledged')
  assert.is((await stream.next()).result?.resultType, 'complete')
  await stream.ended
})

test('WebSocket: the socket is closed with 1008', async (t) => {
  const server = await start(t, serveWebSocket({ authenticate, pingInterval: beat }))
  const stays = await open(t, server, { headers: long })
  const ends = await open(t, server, { headers: short })
  await Promise.all([greet(stays), greet(ends)])
  assert.is(await ends.closed, 1008)
  stays.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 'p', method: 'ping' }))
  assert.equal((await stays.messages.next(({ id }) => id === 'p')).result, {})
})

test('HTTP+SSE: the stream ends, unless its client renews its token', async (t) => {
  const server = await start(t, serveSse({ authenticate, commentInterval: beat }))
  const openStream = () => fetch(String(server.url), { headers: short, signal: t.signal })
  const ends = await openStream()
  assert.match(await ends.text(), /^event: endpoint/)
  const stays = await openStream()
  const expired = Date.now() + life
  let heard = ''
  for await (const chunk of stays.body ?? []) {
    heard += Buffer.from(chunk).toString()
    const [, endpoint] = /^data: (\S+)/m.exec(heard) ?? []
    if (endpoint !== undefined && !heard.includes('posted')) {
      heard += 'posted'
      const body = JSON.stringify(initialize('raw', '2024-11-05'))
      const headers = { ...long, 'content-type': 'application/json' }
      assert.is((await fetch(new URL(endpoint, server.url), { method: 'POST', headers, body })).status, 202)
    }
    if (Date.now() > expired + 100) break
  }
  assert.match(heard, /protocolVersion/)
})

test.run()
