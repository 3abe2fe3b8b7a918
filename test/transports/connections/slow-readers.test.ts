// second tier: time
import type { Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { type Server, startServer } from 'caduceus/server'
import { type ServerTransport, serveWebSocket } from 'caduceus/transports'
import { selfSigned } from '../../support/certificate.js'
import { suite, type TestContext } from '../../support/suite.js'
import { reach, sizes, ways } from '../_sizes.js'
import { greet, open } from '../websocket/_websocket.js'

const test = suite('slow readers', { timeout: 60_000 })
const MiB = 1024 * 1024

async function serve(t: TestContext, transport: ServerTransport): Promise<Server> {
  const server = await startServer(sizes, { transport, logger: false, signals: false })
  t.after(() => server.stop())
  return server
}

test('answers without room shrink to a short error, and the connection goes on', async (t) => {
  const transport = serveWebSocket({
    limits: { messageBytes: MiB, pendingBytes: 20 * MiB, bufferedBytes: 100_000 },
  })
  const server = await serve(t, transport)
  const raw = await open(t, server)
  await greet(raw)
  raw.socket.pause()
  const call = (id: number, length: number) => {
    const params = { name: 'make', arguments: { length } }
    raw.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
  }
  // together, since nothing is taken from who does not read
  const { _socket: below } = raw.socket as unknown as { _socket: Socket }
  below.cork()
  for (let id = 0; id < 60; id++) call(id, MiB - 1_000)
  below.uncork()
  while (!/ 0 unanswered, [1-9]\d*\.\d of 20 MiB pending/.test(JSON.stringify(server.inspect())))
    await new Promise((resolve) => setTimeout(resolve, 20))
  raw.socket.resume()
  const refused: unknown[] = []
  let arrived = 0
  for (let count = 0; count < 60; count++) {
    const { result, error } = await raw.messages.next(({ id }) => typeof id === 'number')
    if (result !== undefined) arrived += 1
    else refused.push(error)
  }
  assert.ok(arrived >= 19, `${arrived} arrived`)
  assert.ok(refused.length > 0)
  for (const error of refused) {
    const { message, data } = error as { message: string; data: unknown }
    assert.match(message, 'limits.pendingBytes')
    assert.equal(data, { retryable: true })
  }
  call(60, 1_000)
  assert.is((await raw.messages.next()).id, 60)
})

for (const scheme of ['ws', 'wss'])
  test(`a slow but moving answer over ${scheme} outlives many pings and arrives whole`, async (t) => {
    const tls = scheme === 'wss' ? { tls: selfSigned() } : {}
    const server = await serve(t, serveWebSocket({ pingInterval: 500, ...tls }))
    const raw = await open(t, server, { rejectUnauthorized: false })
    await greet(raw)
    const { _socket: below } = raw.socket as unknown as { _socket: Socket }
    // one chunk, and then nothing for a while
    below.on('data', () => raw.socket.pause())
    // a chunk of TLS is a quarter of another
    const timer = setInterval(() => raw.socket.resume(), scheme === 'wss' ? 1 : 10)
    t.after(() => clearInterval(timer))
    const params = { name: 'make', arguments: { length: 15 * MiB } }
    raw.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
    const came = raw.messages.next(({ id }) => id === 1)
    const cut = raw.closed.then((code) => Promise.reject(new Error(`closed with ${code}`)))
    const { result } = await Promise.race([came, cut])
    assert.ok(JSON.stringify(result).length > 7 * MiB)
  })

for (const way of ways)
  test(`${way.name}: ten answers of 4 MiB at once all arrive`, async (t) => {
    const client = await reach(t, way)
    const made = Array.from({ length: 10 }, () => client.callTool('make', { length: 4 * MiB }))
    for (const { text } of await Promise.all(made)) assert.is(text.length, 2 * MiB)
  })

test.run()
