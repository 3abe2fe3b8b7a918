// second tier: time
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import * as assert from 'uvu/assert'
import { buildNotification } from 'caduceus/protocol'
import type { HttpServeOptions } from 'caduceus/transports'
import type { HttpSocket } from '../../../transports/http/server/port.js'
import { selfSigned } from '../../support/certificate.js'
import { suite, type TestContext } from '../../support/suite.js'
import {
  type Event,
  exchange,
  goodHeaders,
  type Held,
  holding,
  type Listening,
  startListener,
} from '../_listener.js'

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
  const body =
    id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { padding } })
  const all = { ...goodHeaders, host, 'content-length': String(body.length), connection: 'close', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  socket.pause()
  socket.write(
    `${id === undefined ? 'GET' : 'POST'} ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  )
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

test('a reader that takes nothing is cut after its time and delays no other', async (t) => {
  // long answers of one session are made some time after each other
  const { listening, requests, used } = await serve(t, { streams: { commentInterval: 4_000 } })
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
  test(`a slow but moving ${protocol} answer outlives many comments and arrives whole`, async (t) => {
    const tls = protocol === 'https' ? { tls: selfSigned() } : {}
    const { listening, requests, used } = await serve(t, { streams: { commentInterval: 800 }, ...tls })
    const socket = ask(t, listening, 1)
    ;(await requests.next()).answer(text(15 * MiB))
    const got = await readSlowly(t, socket, 32 * 1024)
    assert.ok(got.endsWith('x"}}') || got.endsWith('x"},"id":1}'), got.slice(-40))
    assert.ok(got.length > 15 * MiB)
    await until(() => used() === 0)
  })

/** So short that all answers are made in one turn, before any is with the kernel. */
const unit = MiB / 8
for (const [whose, limits, status] of [
  ['all', { pendingBytes: 3 * unit }, 503],
  ['one client', { pendingBytes: 30 * unit, pendingBytesPerClient: 3 * unit }, 429],
] as const)
  test(`${whose}: unread answers beyond the limit are errors, and bodies are refused`, async (t) => {
    const { listening, requests, used } = await serve(t, { limits: { messageBytes: unit, ...limits } })
    // kernels take some MiB for each connection: what they hold waits as well
    const sockets = [1, 2, 3, 4, 5].map((id) => ask(t, listening, id))
    const held: Held[] = []
    for (const _ of sockets) held.push(await requests.next())
    for (const one of held) one.answer(text(110_000))
    assert.is(used() <= 3 * unit, true)
    const texts = await Promise.all(sockets.map(readAll))
    const whole = texts.filter((one) => one.length > 110_000)
    assert.is(whole.length, 3)
    for (const one of texts.filter((other) => !whole.includes(other))) {
      assert.match(one, /the request was carried out, but its answer finds no room: .*limits\.pendingBytes/)
      assert.match(one, '"retryable":true')
    }
    await until(() => used() === 0)

    // the budget is full of bodies that are worked on
    for (const id of [6, 7, 8]) ask(t, listening, id, { padding: 'x'.repeat(110_000) })
    const working: Held[] = []
    for (let count = 0; count < 3; count++) working.push(await requests.next())
    const refused = await readAll(ask(t, listening, 9, { padding: 'x'.repeat(110_000) }))
    assert.match(refused, new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*retry-after: 1`, 'i'))
    for (const one of working) one.answer()
    await until(() => used() < 100)
  })

/** Sends what may be dropped until it is; answers how many were taken. */
function fill(send: () => boolean): number {
  let taken = 0
  while (send()) taken += 1
  return taken
}

const note = buildNotification('notifications/message', { level: 'info', data: 'y'.repeat(100_000) })

test('unread stream bytes count, are dropped beyond the limit and resume once read', async (t) => {
  const limits = { messageBytes: MiB, pendingBytes: 2 * MiB, bufferedBytes: 8 * MiB }
  const { listening, requests, used } = await serve(t, {
    limits,
    streams: { resume: false, commentInterval: 60_000 },
  })
  const sockets = [ask(t, listening, 1), ask(t, listening, 2)] as const
  const [first, second] = [await requests.next(), await requests.next()]
  assert.ok(fill(() => first.sink.send(note)) > 10)
  const after = used()
  assert.ok(after > 2 * MiB - 200_000 && after <= 2 * MiB, String(after))
  // its kernel takes some, and then there is no room
  fill(() => second.sink.send(note))
  assert.ok(used() <= 2 * MiB, String(used()))
  const texts = sockets.map(readAll)
  await until(() => used() < 100_000)
  assert.ok(first.sink.send(note))
  for (const one of [first, second]) one.answer()
  for (const one of await Promise.all(texts)) assert.match(one, /"result":\{\}/)
  await until(() => used() === 0)
})

test('a session stream without room is closed and loses nothing', async (t) => {
  const limits = { messageBytes: MiB, pendingBytes: 2 * MiB, bufferedBytes: 8 * MiB }
  const resume = { maxBytes: 8 * MiB }
  const { listening, requests, readers, used } = await serve(t, {
    limits,
    streams: { resume, commentInterval: 60_000 },
  })
  const listen = (headers = {}) => exchange(t, listening.url, { method: 'GET', headers })
  const lazy = await listen()
  const { sink } = await readers.next()
  const number = (value: number) =>
    buildNotification('notifications/n', { value, padding: 'y'.repeat(100_000) })
  sink.send(number(0))
  let { id, data } = await lazy.next()
  while (data === '') ({ id, data } = await lazy.next())
  ask(t, listening, 1, { padding: 'x'.repeat(900_000) })
  const busy = await requests.next()
  // all of one turn: what is written goes out at its end
  for (let value = 1; value <= 15; value++) sink.send(number(value))
  await lazy.ended
  busy.answer()
  await until(() => used() === 0)
  const rest = await listen({ 'last-event-id': id })
  assert.is(rest.status, 200)
  for (let value = 1; value <= 15; value++)
    assert.is(JSON.parse((await rest.next()).data).params.value, value)
})

test('resuming a stream is refused until there is room', async (t) => {
  const { listening, requests, used } = await serve(t, {
    limits: { messageBytes: MiB, pendingBytes: 3 * MiB },
  })
  const asked = exchange(t, listening.url)
  const first = await requests.next()
  first.sink.send(buildNotification('notifications/message', { level: 'info', data: 'z' }))
  const { id } = await (await asked).items
    .next((item) => item.type === 'event' && item.data !== '')
    .then((item) => item as Event)
  ;(await asked).cut()
  await until(() => used() === 0)
  first.answer(text(900_000))
  const sockets = [6, 7, 8].map((number) => ask(t, listening, number, { padding: 'x'.repeat(900_000) }))
  const working: Held[] = []
  for (const _ of sockets) working.push(await requests.next())
  const resume = () => exchange(t, listening.url, { method: 'GET', headers: { 'last-event-id': id } })
  const refused = await resume()
  assert.equal([refused.status, refused.headers['retry-after']], [503, '1'])
  for (const one of working) one.answer()
  await until(() => used() < 100)
  const rest = await resume()
  assert.is(rest.status, 200)
  assert.is(JSON.parse((await rest.next()).data).result.text.length, 900_000)
})

test.run()
