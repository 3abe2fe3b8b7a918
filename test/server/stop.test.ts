import { createServer } from 'node:net'
import * as assert from 'uvu/assert'
import { createFakeClock, startSupervisor } from 'caduceus/runtime'
import { defineServer, defineTool, type Server, serverSpec, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite } from '../support/suite.js'
import { RawClient } from './_client.js'
import { count, echo, startTestServer } from './_servers.js'

const test = suite('server start and stop')

test('stop lets calls in flight finish, ends the streams, and frees the port', async (t) => {
  const { tool, entered, leave } = makeGate()
  const server = await startTestServer(t, [tool, count])
  const client = await new RawClient(t, server.url).open()
  const stream = await client.listen()
  const call = client.text('gate')
  await entered
  const stopped = server.stop()
  await stream.ended
  const late = await new RawClient(t, server.url).open().catch((error) => error)
  assert.is(late.code, 'ECONNREFUSED')
  leave()
  assert.is(await call, 'left')
  await stopped
  await listenOnce(server.port)
})

test('with a drain time of 0 nothing is waited for', async (t) => {
  const { tool, entered } = makeGate()
  const server = await startTestServer(t, [tool], { timeouts: { drain: 0 } })
  const client = await new RawClient(t, server.url).open()
  const call = client.post({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'gate' } })
  await entered
  await server.stop()
  assert.is((await call).messages[0]?.error?.code, -32603)
})

test('stop waits up to timeouts.drain and then answers errors', async (t) => {
  const { tool, entered } = makeGate()
  const server = await startTestServer(t, [tool], { timeouts: { drain: 30 } })
  const client = await new RawClient(t, server.url).open()
  const call = client.post({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'gate' } })
  await entered
  await server.stop()
  const { status, headers, messages } = await call
  assert.equal(
    [status, headers.connection, messages[0]?.id, messages[0]?.error?.code],
    [503, 'close', 3, -32603],
  )
})

test('stop can be called again and again, and await using stops too', async (t) => {
  const server = await startTestServer(t, [count])
  await Promise.all([server.stop(), server.stop()])
  await server.stop()
  assert.is(await server.sessions().then((sessions) => sessions.length), 0)
  const other = await startTestServer(t, [count])
  await other[Symbol.asyncDispose]()
  await listenOnce(other.port)
})

test('a port in use fails the start with LISTEN_FAILED at once', async (t) => {
  const first = await startTestServer(t, [count])
  const definition = defineServer({ name: 'second', version: '1', tools: [] })
  const start = startServer(definition, { transport: serveHttp({ port: first.port ?? 0 }), logger: false })
  const error = await start.catch((reason) => reason)
  assert.equal(
    [error.name, error.code, error.message],
    [
      'TransportError',
      'LISTEN_FAILED',
      `cannot listen on 127.0.0.1 port ${first.port}: the port is in use: take another port, or 0 for a free one`,
    ],
  )
  assert.is(error.data.code, 'EADDRINUSE')
})

test('the supervision tree is the documented one', async (t) => {
  const server = await startTestServer(t, [count])
  await new RawClient(t, server.url).open()
  const show = ({ id, kind, strategy, children }: ReturnType<Server['inspect']>): unknown => [
    id.replace(/^session [0-9a-f]{8}$/, 'a session'),
    strategy ?? kind,
    ...children.map(show),
  ]
  assert.equal(show(server.inspect()), [
    'server test',
    'rest_for_one',
    ['holdings', 'actor'],
    [
      'group',
      'one_for_all',
      ['sessions', 'one_for_one', ['a session', 'actor']],
      ['tasks', 'supervisor'],
      ['base', 'actor'],
      ['transport', 'actor'],
    ],
  ])
})

test('a server runs below a user supervisor and stops with it in order', async (t) => {
  const { tool, entered, leave } = makeGate()
  const definition = defineServer({ name: 'embedded', version: '1', tools: [tool] })
  const supervisor = await startSupervisor({ strategy: 'one_for_one', logger: false })
  t.after(() => supervisor[Symbol.asyncDispose]())
  const { extra } = await supervisor.startChild(serverSpec(definition, { transport: serveHttp() }))
  const server = extra as Server
  const client = await new RawClient(t, server.url).open()
  const call = client.text('gate')
  await entered
  const stopped = supervisor.stop()
  leave()
  assert.is(await call, 'left')
  await stopped
  assert.not.ok(server.ref.alive)
})

test('two servers of one name in one tree are refused', async (t) => {
  const definition = defineServer({ name: 'twin', version: '1' })
  const supervisor = await startSupervisor({ strategy: 'one_for_one', logger: false })
  t.after(() => supervisor.stop())
  await supervisor.startChild(serverSpec(definition, { transport: serveHttp() }))
  const second = serverSpec(definition, { transport: serveHttp() }, { id: 'second' })
  assert.is((await supervisor.startChild(second).catch((error) => error)).code, 'START_FAILED')
  const other = await supervisor.startChild(serverSpec(definition, { transport: serveHttp(), name: 'other' }))
  assert.is((other.extra as Server).name, 'other')
})

test('a session without messages, requests or readers idles out', async (t) => {
  const clock = createFakeClock()
  const server = await startTestServer(t, [count, echo], { timeouts: { idle: 60_000 }, clock })
  const clients = await Promise.all(
    ['idle', 'busy', 'listening'].map((name) => new RawClient(t, server.url).open(name)),
  )
  const [idle, busy, listening] = clients as [RawClient, RawClient, RawClient]
  const stream = await listening.listen()
  await clock.advance(40_000)
  await busy.text('count')
  await clock.advance(40_000)
  assert.equal((await server.sessions()).map(({ client }) => client.name).sort(), ['busy', 'listening'])
  assert.is((await idle.tell('notifications/initialized')).status, 404)
  assert.is(await busy.text('count'), '2')
  await clock.advance(60_000)
  assert.equal(
    (await server.sessions()).map(({ client }) => client.name),
    ['listening'],
  )
  stream.close()
  await stream.ended
})

function listenOnce(port: number | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(Number(port), '127.0.0.1', () => probe.close(() => resolve()))
  })
}

function makeGate() {
  let enter = (): void => {}
  let leave = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const tool = defineTool({
    name: 'gate',
    async run() {
      enter()
      await left
      return 'left'
    },
  })
  return { tool, entered, leave: () => leave() }
}

test.run()
