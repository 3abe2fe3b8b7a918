import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import * as assert from 'uvu/assert'
import type { SocketLookup } from '../../../../transports/base/private-address.js'
import {
  discard,
  type HttpDispatchers,
  openDispatchers,
  readText,
} from '../../../../transports/http/outgoing/dispatcher.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { listen, type Seen } from '../../_http.js'

const test = suite('http exchange', { timeout: 10_000 })

/** A server that a test answers for, and one connection to it. */
async function open(t: TestContext, handle: (seen: Seen) => unknown) {
  const { url, seen } = await listen(t, handle)
  const { origin, pathname } = new URL(url)
  const dispatchers = await openDispatchers(origin, { connections: 1, connectTimeout: 5_000 })
  t.after(() => dispatchers.destroy())
  return { dispatchers, seen, path: pathname }
}

function get({ dispatchers, path }: { dispatchers: HttpDispatchers; path: string }, signal?: AbortSignal) {
  const controller = new AbortController()
  return dispatchers.send({ method: 'GET', path, headers: {}, signal: signal ?? controller.signal })
}

test('a body that arrived before its reader is text, within the limit', async (t) => {
  const both = await open(t, ({ response }) => response.end('x'.repeat(1_000)))
  assert.is(await (await get(both)).text(1_000), 'x'.repeat(1_000))
  const error = await (await get(both)).text(999).catch((cause) => cause)
  assert.is(error.code, 'MESSAGE_TOO_LONG')
})

test.slow('a long body waits for its reader and is read whole, as text or as stream', async (t) => {
  const long = 'ž'.repeat(4 * 1024 * 1024)
  const both = await open(t, ({ response }) => response.end(long))
  const first = await get(both)
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok((await first.text(16 * 1024 * 1024)) === long)
  const second = await get(both)
  assert.ok((await readText(second.body, 16 * 1024 * 1024)) === long)
})

test('a long body is made into text in its turn, a short one at once', async (t) => {
  const all = ['x'.repeat(512 * 1024), 'short']
  const both = await open(t, ({ response }) => response.end(all[0]))
  for (const asStream of [false, true]) {
    const events: string[] = []
    let begin = (): void => {}
    const turn = (): Promise<void> => {
      events.push('turn')
      return new Promise((resolve) => {
        begin = resolve
      })
    }
    const response = await get(both)
    const came = (bytes: number): void => void (bytes === 512 * 1024 && events.push('came'))
    const reading = asStream
      ? readText(response.body, 1_048_576, { came, turn })
      : response.text(1_048_576, { came, turn })
    void reading.then(() => events.push('read'))
    while (events.at(-1) !== 'turn') await new Promise((resolve) => setImmediate(resolve))
    begin()
    assert.is((await reading).length, 512 * 1024)
    assert.equal(events, ['came', 'turn', 'read'])
  }
  all.shift()
  const never = (): Promise<void> => Promise.reject(new Error('a turn for a short body'))
  assert.is(await (await get(both)).text(100, { turn: never }), 'short')
})

test('a body that is cut off is an error, of the text and of the stream', async (t) => {
  const both = await open(t, ({ response }) => {
    response.writeHead(200, { 'content-length': '10' })
    response.write('half')
    setImmediate(() => response.destroy())
  })
  const asText = await (await get(both)).text(100).catch((cause) => cause)
  assert.instance(asText, Error)
  const { body } = await get(both)
  const asStream = await readText(body, 100).catch((cause) => cause)
  assert.instance(asStream, Error)
})

test('a request aborted while it waits for a connection never reaches the server', async (t) => {
  const waiting = heard<Seen>()
  const both = await open(t, (seen) => {
    if (waiting.all.length === 0) waiting.add(seen)
    else seen.response.end('second')
  })
  const first = get(both)
  const held = await waiting.next()
  const controller = new AbortController()
  const second = get(both, controller.signal)
  controller.abort(new Error('nobody waits'))
  assert.is((await second.catch((cause) => cause)).message, 'nobody waits')
  held.response.end('first')
  assert.is(await (await first).text(100), 'first')
  assert.is(await (await get(both)).text(100), 'second')
  assert.is(both.seen.all.length, 2)
})

test('a request aborted during its body rejects with the reason, also at the server', async (t) => {
  const ended = heard<string>()
  const both = await open(t, ({ response }) => {
    response.write('begun')
    response.once('close', () => ended.add('closed'))
  })
  const controller = new AbortController()
  const text = (await get(both, controller.signal)).text(100)
  controller.abort(new Error('enough'))
  assert.is((await text.catch((cause) => cause)).message, 'enough')
  await ended.next()
})

test('a stream its reader leaves ends at the server; a discard frees the connection', async (t) => {
  const ended = heard<string>()
  const both = await open(t, ({ response }) => {
    if (both.seen.all.length > 1) return response.end('next')
    response.write('begun')
    return response.once('close', () => ended.add('closed'))
  })
  const { body } = await get(both)
  await once(body, 'data')
  body.destroy()
  await ended.next()
  discard(await get(both))
  assert.is(await (await get(both)).text(100), 'next')
})

/** Connections to `localhost`, whose name is not found the first time. */
async function openLate(t: TestContext) {
  const waiting = heard<ServerResponse>()
  const connected = heard<Socket>()
  const server = createServer((_request, response) => waiting.add(response))
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => connected.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  let looked = 0
  const lookup: SocketLookup = (_name, _options, found) => {
    looked += 1
    const error = looked === 1 ? Object.assign(new Error('not yet'), { code: 'ENOTFOUND' }) : null
    setImmediate(() => found(error, [{ address: '127.0.0.1', family: 4 }]))
  }
  const options = { connections: 1, connectTimeout: 5_000, lookup }
  const dispatchers = await openDispatchers(`http://localhost:${port}`, options)
  t.after(() => dispatchers.destroy())
  return { dispatchers, waiting, connected, path: '/' }
}

test('a connection that could not be made at first counts as one of them', async (t) => {
  const late = await openLate(t)
  const [first, second] = [get(late), get(late)]
  assert.is((await first.catch((cause) => cause)).code, 'ENOTFOUND')
  const held = await late.waiting.next()
  const third = get(late)
  held.end('second')
  assert.is(await (await second).text(100), 'second')
  const next = await late.waiting.next()
  next.end('third')
  assert.is(await (await third).text(100), 'third')
  assert.is(late.connected.all.length, 1)
})

test('a connection that could not be made at first ends with the rest', async (t) => {
  const late = await openLate(t)
  const [first, second] = [get(late), get(late)]
  assert.is((await first.catch((cause) => cause)).code, 'ENOTFOUND')
  const held = await late.waiting.next()
  held.end('second')
  assert.is(await (await second).text(100), 'second')
  const socket = await late.connected.next()
  const closed = once(socket, 'close')
  await late.dispatchers.destroy()
  await closed
})

test.run()
