import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { TransportError } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { startLink } from '../transports/_link.js'
import { connected, inProcess, text, transportSuite } from '../transports/_suite.js'
import { startSuiteServer } from '../transports/_suite-server.js'
import { serveTcp, tcp } from './tcp-transport.js'

const everyTransport = transportSuite('TCP, a transport of a user', (t) =>
  inProcess(t, {
    serve: ({ port = 0 }) => serveTcp({ port }),
    connect: (url) => tcp({ port: Number(new URL(url).port) }),
  }),
)
everyTransport.run()

const test = suite('tcp example')

test('the transport imports nothing of the library but caduceus/transports', () => {
  const source = readFileSync(inRoot('test', 'examples', 'tcp-transport.ts'), 'utf8')
  const imported = [...source.matchAll(/from '([^']+)'/g)].map(([, from]) => from)
  assert.equal(imported, ['node:net', 'caduceus/transports'])
})

test('a port that is taken fails the start of the server', async (t) => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => taken.close(resolve)))
  const { port } = taken.address() as AddressInfo
  const error = await startSuiteServer(serveTcp({ port })).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof TransportError && error.code === 'LISTEN_FAILED', String(error))
})

test('a client reports that nobody listens as retryable', async (t) => {
  const link = await startLink(t, tcp({ port: 1 }))
  link.open(1)
  const { error, fatal } = await link.closed()
  assert.equal([error?.code, error?.retryable, fatal], ['CONNECT_FAILED', true, false])
})

test('what is no message is answered, and the next one is served', async (t) => {
  const server = await startSuiteServer(serveTcp())
  t.after(() => server.stop())
  const socket = connect(Number(server.port), '127.0.0.1')
  t.after(() => socket.destroy())
  const answers = heard<string>()
  socket.on('data', (chunk) => answers.add(chunk.toString()))
  socket.write('nonsense\n')
  assert.is(JSON.parse(await answers.next()).error.code, -32700)
  socket.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  assert.equal(JSON.parse(await answers.next()), { jsonrpc: '2.0', id: 1, result: {} })
})

test('cut sockets end their sessions only', async (t) => {
  const server = await startSuiteServer(serveTcp())
  t.after(() => server.stop())
  const client = await connected(t, { connect: () => tcp({ port: Number(server.port) }) })
  const cut = Array.from({ length: 20 }, () => {
    const socket = connect(Number(server.port), '127.0.0.1')
    socket.on('connect', () => socket.resetAndDestroy())
    return once(socket, 'close')
  })
  assert.is(await text(client, 'count'), '1')
  await Promise.all(cut)
})

test.run()
