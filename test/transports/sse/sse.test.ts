// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { request, type IncomingMessage } from 'node:http'
import { createFakeClock } from 'caduceus/runtime'
import type { Server } from 'caduceus/server'
import { serveSse, sse, type SseServeOptions } from 'caduceus/transports'
import { initialize, type Wire } from '../../server/_client.js'
import { type Heard, heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { connected, inProcess, text, transportSuite } from '../_suite.js'
import { startSuiteServer } from '../_suite-server.js'

const everyTransport = transportSuite('HTTP+SSE', (t) =>
  inProcess(t, { serve: ({ port = 0 }) => serveSse({ port }), connect: (url) => sse(url) }),
)
everyTransport.run()

const test = suite('sse', { timeout: 15_000 })

async function listen(t: TestContext, options: SseServeOptions = {}): Promise<Server> {
  const server = await startSuiteServer(serveSse(options))
  t.after(() => server.stop())
  return server
}

type Event = { readonly event: string; readonly data: string }

/** An event stream that is open, read by hand. */
type RawStream = {
  readonly endpoint: URL
  readonly events: Heard<Event>
  readonly response: IncomingMessage
  readonly ended: Promise<void>
}

async function openStream(t: TestContext, server: Server): Promise<RawStream> {
  const events = heard<Event>()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(
      String(server.url),
      { agent: false, headers: { accept: 'text/event-stream' } },
      resolve,
    )
    sent.on('error', reject)
    sent.end()
    t.after(() => sent.destroy())
  })
  assert.is(response.headers['content-type'], 'text/event-stream')
  response.on('error', () => {})
  response.setEncoding('utf8')
  let rest = ''
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, event = 'comment'] = /^event: (.*)$/m.exec(block) ?? []
      events.add({ event, data: block.replace(/^(?:event: .*\n)?data: /, '') })
    }
  })
  const ended = new Promise<void>((resolve) => response.once('close', () => resolve()))
  const first = await events.next()
  assert.is(first.event, 'endpoint')
  return { endpoint: new URL(first.data, server.url), events, response, ended }
}

async function post(
  url: URL | string,
  body: string | object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const all = { 'content-type': 'application/json', ...headers }
    const sent = request(url, { method: 'POST', agent: false, headers: all }, async (response) => {
      let read = ''
      for await (const chunk of response) read += chunk
      resolve({ status: Number(response.statusCode), body: read })
    })
    sent.on('error', reject)
    sent.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

async function message({ events }: RawStream): Promise<Wire> {
  return JSON.parse((await events.next(({ event }) => event === 'message')).data)
}

test('the first event is the endpoint, and answers use the stream only', async (t) => {
  const raw = await openStream(t, await listen(t))
  assert.is(raw.endpoint.pathname, '/messages')
  assert.match(raw.endpoint.search, /^\?sessionId=[\w-]{21}$/)
  assert.equal(await post(raw.endpoint, initialize('raw', '2024-11-05')), { status: 202, body: 'Accepted' })
  const { result } = await message(raw)
  assert.is(result?.protocolVersion, '2024-11-05')
  const { status: noted } = await post(raw.endpoint, { jsonrpc: '2.0', method: 'notifications/initialized' })
  assert.is(noted, 202)
  await post(raw.endpoint, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'count' } })
  assert.is((await message(raw)).result?.content?.[0]?.text, '1')
})

test('both endpoints check host, origin, path, method, types, size and session', async (t) => {
  const server = await listen(t, { limits: { messageBytes: 1_000 } })
  const { endpoint } = await openStream(t, server)
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const statusOf = async (
    url: URL | string,
    headers?: Record<string, string>,
    body: string | object = ping,
  ) => (await post(url, body, headers)).status
  assert.is(await statusOf(endpoint, { host: 'evil.example' }), 403)
  assert.is(await statusOf(endpoint, { origin: 'https://evil.example' }), 403)
  assert.is(await statusOf(endpoint, { 'content-type': 'text/plain' }), 415)
  assert.is(await statusOf(endpoint, { 'content-encoding': 'gzip' }), 415)
  assert.is(await statusOf(endpoint, {}, 'x'.repeat(1_001)), 413)
  assert.is(await statusOf(endpoint, {}, '{'), 400)
  assert.is(await statusOf(endpoint, {}, { jsonrpc: '1.0' }), 400)
  assert.is(await statusOf(new URL('/messages', endpoint)), 400)
  assert.is(await statusOf(new URL('/messages?sessionId=made-up', endpoint)), 404)
  assert.is(await statusOf(new URL('/elsewhere', endpoint)), 404)
  assert.is(await statusOf(String(server.url)), 405)
  const get = async (headers: Record<string, string>, url: URL | string = String(server.url)) => {
    const options = { agent: false, headers: { accept: 'text/event-stream', ...headers } }
    const response = await new Promise<IncomingMessage>((resolve) => request(url, options, resolve).end())
    response.destroy()
    return response.statusCode
  }
  assert.is(await get({ host: 'evil.example' }), 403)
  assert.is(await get({ origin: 'null' }), 403)
  assert.is(await get({ accept: 'application/json' }), 406)
  assert.is(await get({}, endpoint), 405)
  assert.is(await statusOf(endpoint), 202)
})

test('the session ends with its stream, and later posts are 404', async (t) => {
  const server = await listen(t)
  const raw = await openStream(t, server)
  await post(raw.endpoint, initialize())
  await message(raw)
  assert.is((await server.sessions()).length, 1)
  raw.response.destroy()
  while ((await server.sessions()).length > 0) await turn()
  assert.is((await post(raw.endpoint, { jsonrpc: '2.0', id: 1, method: 'ping' })).status, 404)
})

test('a quiet stream is kept open by comments', async (t) => {
  const clock = createFakeClock()
  const server = await startSuiteServer(serveSse(), { clock })
  t.after(() => server.stop())
  const raw = await openStream(t, server)
  await clock.advance(15_000)
  assert.is((await raw.events.next()).event, 'comment')
})

test('streams beyond the limit are answered 503', async (t) => {
  const server = await listen(t, { limits: { connections: 1 } })
  await openStream(t, server)
  const response = await fetch(String(server.url), { headers: { accept: 'text/event-stream' } })
  assert.is(response.status, 503)
  await response.body?.cancel()
})

test('a reader that stops reading is cut off, and other sessions go on', async (t) => {
  const server = await listen(t, { limits: { bufferedBytes: 16 * 1024 }, commentInterval: 1_000 })
  const client = await connected(t, { connect: () => sse(String(server.url)) })
  const lazy = await openStream(t, server)
  await post(lazy.endpoint, initialize())
  await message(lazy)
  lazy.response.pause()
  const big = { name: 'echo', arguments: { text: 'z'.repeat(1024 * 1024) } }
  for (let id = 0; id < 30; id++) {
    const { status: taken } = await post(lazy.endpoint, {
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: big,
    })
    if (taken !== 202) break
  }
  while ((await server.sessions()).length > 1) await turn()
  assert.is(await text(client, 'count'), '1')
})

test('the end of the server ends the streams', async (t) => {
  const server = await listen(t)
  const raw = await openStream(t, server)
  await post(raw.endpoint, initialize())
  await message(raw)
  await server.stop()
  await raw.ended
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()
