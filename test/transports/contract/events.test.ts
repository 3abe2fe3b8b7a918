import * as assert from 'uvu/assert'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { startClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { defineTool } from 'caduceus/server'
import { record, type Recording, type TestingEvents } from 'caduceus/testing'
import { memory, serveSse, serveStdio, serveWebSocket, TransportError } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { greet, open, upgrade } from '../websocket/_websocket.js'
import { RawClient } from '../../server/_client.js'
import { as, byName } from '../../server/_principals.js'
import { count, startTestServer } from '../../server/_servers.js'

const test = suite('transport events', { timeout: 15_000 })

function listen<Name extends keyof TestingEvents>(
  t: TestContext,
  name: Name,
): Recording<TestingEvents[Name]> {
  const events = record(name)
  t.after(() => events.stop())
  return events
}

test('a listener emits its port, its connections and whom it refuses', async (t) => {
  const [listeners, connections] = [listen(t, 'transport.listener'), listen(t, 'transport.connection')]
  const server = await startTestServer(t, [count], { http: { authenticate: byName } })
  const { url, port } = server
  const { tree, ...listening } = await listeners.next()
  assert.equal(listening, { type: 'listening', transport: 'http', server: 'test', url, port })
  const status = (headers: Record<string, string>) =>
    fetch(String(url), { method: 'POST', headers: { connection: 'close', ...headers } }).then((r) => r.status)
  assert.is(await status(as('refused')), 401)
  const seen = [await connections.next(), await connections.next(), await connections.next()]
  assert.equal(
    seen.map(({ type, status: why, connection }) => [type, why ?? connection]),
    [
      ['opened', 1],
      ['refused', 401],
      ['closed', 1],
    ],
  )
  assert.ok(seen.every((event) => event.remoteAddress === '127.0.0.1' && event.tree === tree))
  await server.stop()
  assert.is((await listeners.next()).type, 'stopped')
})

test('that nobody can say who callers are is told, and logged, once a minute', async (t) => {
  const notices = listen(t, 'transport.notice')
  const clock = createFakeClock()
  const lines: string[] = []
  const write = (level: string) => (facts: object, message: string) =>
    lines.push(`${level} ${message}: ${(facts as { problem?: string }).problem}`)
  const logger = { debug() {}, info() {}, warn: write('warn'), error: write('error') }
  const authenticate = (): never => {
    throw new TransportError('AUTHORIZATION_UNAVAILABLE', 'the directory: status 401')
  }
  const { url } = await startTestServer(t, [count], { http: { authenticate }, clock, logger })
  const refused = async (): Promise<void> => {
    const { status } = await fetch(String(url), { method: 'POST', headers: { connection: 'close' } })
    assert.is(status, 503)
  }
  for (let i = 0; i < 3; i++) await refused()
  await clock.advance(60_000)
  await refused()
  const told = { type: 'not_identified', level: 'warn', problem: 'the directory: status 401' }
  for (const { tree: _tree, ...notice } of [await notices.next(), await notices.next()])
    assert.equal(notice, { transport: 'http', ...told, refused: notice.refused })
  assert.equal(
    notices.all.map(({ refused }) => refused),
    [1, 3],
  )
  assert.equal(lines, Array(2).fill('warn transport.notice not_identified: the directory: status 401'))
})

test('an event stream emits its begin, release, resume and end', async (t) => {
  const waiting = heard<() => void>()
  const step = defineTool({
    name: 'step',
    async run(_args, ctx) {
      ctx.progress(1)
      ctx.releaseStream()
      await new Promise<void>((resolve) => waiting.add(resolve))
      return 'done'
    },
  })
  const server = await startTestServer(t, [step], { http: { streams: { retryInterval: 10 } } })
  const client = await new RawClient(t, server.url).open()
  const streams = listen(t, 'transport.stream')
  const params = { name: 'step', _meta: { progressToken: 1 } }
  const { body } = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const id = /^id: (.+)$/m.exec(body)?.[1]
  const again = await client.listen({ 'last-event-id': String(id) })
  const finish = await waiting.next()
  finish()
  await again.ended
  const reader = await client.listen()
  reader.close()
  const told: string[] = []
  while (told.length < 7) {
    const { type, kind } = await streams.next()
    told.push(`${kind} ${type}`)
  }
  assert.equal(told, [
    'call opened',
    'call released',
    'call closed',
    'call resumed',
    'call closed',
    'listen opened',
    'listen closed',
  ])
})

test('HTTP+SSE, WebSocket and memory emit connections and refusals', async (t) => {
  const connections = listen(t, 'transport.connection')
  const next = async () => {
    const { transport, type, status, reason } = await connections.next()
    return [transport, type, status ?? reason]
  }
  const sockets = await startTestServer(t, [count], {
    transport: serveWebSocket({ limits: { connections: 1 } }),
  })
  const first = await open(t, sockets)
  await greet(first)
  assert.equal(await next(), ['websocket', 'opened', undefined])
  assert.is(await upgrade(sockets, { host: 'evil.example' }), 403)
  assert.equal(await next(), ['websocket', 'refused', 403])
  const second = await open(t, sockets)
  await second.closed
  assert.equal(await next(), ['websocket', 'refused', 'limit'])
  first.socket.close()
  assert.equal(await next(), ['websocket', 'closed', undefined])
  const streams = await startTestServer(t, [count], { transport: serveSse() })
  const controller = new AbortController()
  await fetch(String(streams.url), { signal: controller.signal })
  assert.equal(await next(), ['sse', 'opened', undefined])
  controller.abort()
  assert.equal(await next(), ['sse', 'closed', undefined])
  const { serve, connect: reach } = memory()
  await startTestServer(t, [count], { transport: serve })
  const client = startClient({ transport: reach, logger: false })
  await client.ready()
  assert.equal(await next(), ['memory', 'opened', undefined])
  await client.close()
  assert.equal(await next(), ['memory', 'closed', undefined])
})

test('a connection beyond the limit is emitted as refused; stdin is one connection', async (t) => {
  const connections = listen(t, 'transport.connection')
  const next = async () => {
    const { transport, type, reason, connection } = await connections.next()
    return [transport, type, reason ?? connection]
  }
  const { port } = await startTestServer(t, [count], { http: { limits: { connections: 1 } } })
  const sockets = [connect(Number(port), '127.0.0.1'), connect(Number(port), '127.0.0.1')]
  for (const socket of sockets) t.after(() => socket.destroy())
  assert.equal([await next(), await next()].sort(), [
    ['http', 'opened', 1],
    ['http', 'refused', 'limit'],
  ])
  for (const socket of sockets) socket.destroy()
  assert.equal(await next(), ['http', 'closed', 1])
  const input = new PassThrough()
  await startTestServer(t, [count], { transport: serveStdio({ input, output: new PassThrough() }) })
  assert.equal(await next(), ['stdio', 'opened', 1])
  input.end()
  assert.equal(await next(), ['stdio', 'closed', 1])
})

test.run()
