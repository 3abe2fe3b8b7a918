import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect } from 'node:net'
import { subscribeServer } from 'caduceus/server'
import { serveHttp, serveSse, subscribeTransport } from 'caduceus/transports'
import { initialize } from '../../../server/_client.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { startSuiteServer } from '../../_suite-server.js'
import * as assert from 'uvu/assert'

const test = suite('requests that are sent ahead')

/** Sends bytes on a connection of its own; `cut` ends it. */
function sendAll(t: TestContext, port: number | undefined, text: string) {
  const came = heard<string>()
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    for (const [line] of chunk.matchAll(/HTTP\/1\.1 \d+/g)) came.add(line)
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  t.after(() => socket.destroy())
  return { came, closed, cut: () => socket.destroy(), send: (more: string) => socket.write(more) }
}

test('an HTTP+SSE client that leaves ends its streams queued on the connection', async (t) => {
  const openings = heard<string>()
  t.after(subscribeTransport('connection', ({ type }) => openings.add(type)))
  const server = await startSuiteServer(serveSse({ limits: { connectionsPerClient: 5 } }))
  t.after(() => server.stop())
  const open = 'GET /sse HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n'
  const { cut } = sendAll(t, server.port, open.repeat(5))
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'opened')
  cut()
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'closed')
  // nothing is counted any more: the address may have as many as before
  const again = sendAll(t, server.port, open.repeat(5))
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'opened')
  again.cut()
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'closed')
})

test('32 requests at once on one connection are answered without a Node warning', async (t) => {
  const warnings: string[] = []
  const warned = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  const { came } = sendAll(t, server.port, posts(32))
  for (let i = 0; i < 32; i++) assert.is(await came.next(), 'HTTP/1.1 200')
  assert.equal(warnings, [])
})

test('a connection with more than 32 requests at once is cut, few are served', async (t) => {
  const sessions: string[] = []
  t.after(subscribeServer('session', ({ type }) => type === 'opened' && sessions.push(type)))
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  const { closed } = sendAll(t, server.port, posts(300))
  await closed
  assert.ok(sessions.length <= 32, String(sessions.length))
  const { came } = sendAll(t, server.port, posts(1))
  assert.is(await came.next(), 'HTTP/1.1 200')
  const expecting = 'GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nexpect: wonders\r\n\r\n'
  const one = sendAll(t, server.port, expecting)
  assert.is(await one.came.next(), 'HTTP/1.1 417')
  await one.closed
  const many = sendAll(t, server.port, expecting.repeat(300))
  await many.closed
})

test('what came behind the request that cuts a connection is not made into requests', async (t) => {
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  let made = 0
  const count = (): void => {
    made += 1
  }
  subscribe('http.server.request.start', count)
  t.after(() => unsubscribe('http.server.request.start', count))
  const { closed } = sendAll(t, server.port, 'GET /nothing HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(1_000))
  await closed
  assert.is(made, 33)
})

test.slow('who asks beside many that send ahead what is refused has its turn', async (t) => {
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  let refused = 0
  const all = heard<undefined>()
  const strangers = Array.from({ length: 40 }, () => {
    const socket = connect(Number(server.port), '127.0.0.1')
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      refused += chunk.match(/HTTP\/1\.1 404/g)?.length ?? 0
      if (refused === 40 * 30) all.add(undefined)
    })
    t.after(() => socket.destroy())
    return socket
  })
  await Promise.all(strangers.map((socket) => once(socket, 'connect')))
  const own = sendAll(t, server.port, posts(1))
  assert.is(await own.came.next(), 'HTTP/1.1 200')
  const nothing = 'GET /nothing HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'
  for (const socket of strangers) socket.write(nothing.repeat(30))
  own.send(nothing)
  assert.is(await own.came.next(), 'HTTP/1.1 404')
  const before = refused
  await all.next()
  assert.ok(before < 40 * 15, `${before} of ${40 * 30} were answered before`)
})

/** So many requests, one after the other. */
function posts(count: number): string {
  const body = JSON.stringify(initialize())
  const head =
    'host: 127.0.0.1\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json'
  return `POST /mcp HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`.repeat(count)
}

test.run()
