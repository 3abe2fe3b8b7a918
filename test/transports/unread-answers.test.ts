import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import * as assert from 'uvu/assert'
import { buildNotification } from '../../protocol/jsonrpc.js'
import { type HttpServeOptions } from '../../transports/http-listener.js'
import type { HttpSocket } from '../../transports/http-socket.js'
import { selfSigned } from '../support/certificate.js'
import { suite, type TestContext } from '../support/suite.js'
import { exchange, goodHeaders, type Held, holding, type Listening, startListener } from './_listener.js'

const test = suite('unread answers', { timeout: 60_000 })
const MiB = 1024 * 1024

/** A listener, and what its budget says. */
async function serve(t: TestContext, options: HttpServeOptions) {
  const { port, requests, readers } = holding()
  const listening = await startListener(t, port, options)
  const { budget } = listening.binding as HttpSocket
  return { listening, requests, readers, used: () => budget.used }
}

/** A client that has sent one request, and reads nothing until it is told to. */
function ask(
  t: TestContext,
  { url }: Listening,
  id: number | undefined,
  { padding = '', headers = {} }: { readonly padding?: string; readonly headers?: object } = {},
): Socket {
  const { hostname, port, protocol, host, pathname } = new URL(url)
  const to = { host: hostname, port: Number(port) }
  const socket = protocol === 'https:' ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  const body = id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { padding } })
  const all = { ...goodHeaders, host, 'content-length': String(body.length), connection: 'close', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  socket.pause()
  socket.write(`${id === undefined ? 'GET' : 'POST'} ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  return socket
}

/** All that comes, read by so many bytes every few ms. */
function readSlowly(t: TestContext, socket: Socket, bytes: number): Promise<string> {
  let text = ''
  const timer = setInterval(() => {
    const chunk: Buffer | null = socket.read(Math.min(bytes, socket.readableLength))
    if (chunk !== null) text += chunk.toString('latin1')
  }, 5)
  t.after(() => clearInterval(timer))
  // without it nothing is fetched from below
  socket.on('readable', () => {})
  return new Promise((resolve) => socket.once('close', () => resolve(text)).once('end', () => resolve(text)))
}

function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  socket.resume()
  return new Promise((resolve) => socket.once('close', () => resolve(text)))
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const text = (bytes: number) => ({ text: 'x'.repeat(bytes) })

test('a reader who takes nothing of its answer is cut after commentInterval, and costs nobody else anything', async (t) => {
  const { listening, requests, used } = await serve(t, { commentInterval: 300 })
  const idle = [1, 2, 3].map((id) => ask(t, listening, id))
  const held: Held[] = []
  for (const _ of idle) held.push(await requests.next())
  for (const one of held) one.answer(text(15 * MiB))
  await until(() => used() > 45 * MiB)
  assert.ok(used() < 46 * MiB, String(used()))
  const other = exchange(t, listening.url)
  ;(await requests.next()).answer()
  assert.is((await other).status, 200)
  await until(() => used() === 0)
  for (const socket of idle) {
    const got = await readAll(socket)
    assert.ok(got.length < 15 * MiB, 'it was cut')
  }
})

for (const protocol of ['http', 'https'])
  test(`an answer over ${protocol} that takes many times commentInterval, and moves, arrives whole`, async (t) => {
    const tls = protocol === 'https' ? { tls: selfSigned() } : {}
    const { listening, requests, used } = await serve(t, { commentInterval: 500, ...tls })
    const socket = ask(t, listening, 1)
    ;(await requests.next()).answer(text(15 * MiB))
    const got = await readSlowly(t, socket, 32 * 1024)
    assert.ok(got.endsWith('x"}}') || got.endsWith('x"},"id":1}'), got.slice(-40))
    assert.ok(got.length > 15 * MiB)
    await until(() => used() === 0)
  })

for (const [whose, limits, status] of [
  ['all', { maxPendingBytes: 3 * MiB }, 503],
  ['one client', { maxPendingBytes: 30 * MiB, maxPendingBytesPerClient: 3 * MiB }, 429],
] as const)
  test(`unread answers of ${whose} beyond the limit are errors, and further bodies are refused until they are read`, async (t) => {
    const { listening, requests, used } = await serve(t, { maxMessageBytes: MiB, ...limits })
    // kernels take some MiB for each connection: what they hold waits as well
    const sockets = [1, 2, 3, 4, 5].map((id) => ask(t, listening, id))
    const held: Held[] = []
    for (const _ of sockets) held.push(await requests.next())
    for (const one of held) one.answer(text(900_000))
    assert.is(used() <= 3 * MiB, true)
    const texts = await Promise.all(sockets.map(readAll))
    const whole = texts.filter((one) => one.length > 900_000)
    assert.is(whole.length, 3)
    for (const one of texts.filter((other) => !whole.includes(other))) {
      assert.match(one, 'maxPendingBytes')
      assert.match(one, '"retryable":true')
    }
    await until(() => used() === 0)

    // the budget is full of bodies that are worked on
    for (const id of [6, 7, 8]) ask(t, listening, id, { padding: 'x'.repeat(900_000) })
    const working: Held[] = []
    for (let count = 0; count < 3; count++) working.push(await requests.next())
    const refused = await readAll(ask(t, listening, 9, { padding: 'x'.repeat(900_000) }))
    assert.match(refused, new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*retry-after: 1`, 'i'))
    for (const one of working) one.answer()
    await until(() => used() < 100)
  })

test.run()
