// second tier: time
import { Agent, request } from 'node:http'
import * as https from 'node:https'
import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { buildResult, isRequest } from 'caduceus/protocol'
import { type Clock, createFakeClock } from 'caduceus/runtime'
import { http, type HttpServeOptions, serveHttp } from 'caduceus/transports'
import type { Services } from '../../../support/ports.js'
import { selfSigned } from '../../../support/certificate.js'
import { suite, type TestContext } from '../../../support/suite.js'
import {
  exchange,
  goodHeaders,
  holding,
  type Listening,
  type Reading,
  startListener,
} from '../../_listener.js'
import { feeding, sharePort, type SharedPort } from '../_shared.js'

const test = suite('http listener retires', { timeout: 20_000 })
const get = { method: 'GET' }
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

test('an open connection closes with its next answer, new ones go elsewhere', async (t) => {
  const { port, next } = await startPlace(t, { health: true })
  const first = await next()
  const agents = [keptAlive(t), keptAlive(t), keptAlive(t)] as const
  const paths = ['/mcp', '/healthz', '/other']
  const ask = (i: number) => post(port, agents[i] as Agent, paths[i])
  for (const i of [0, 1, 2]) assert.is((await ask(i)).connection, 'keep-alive', paths[i])
  const second = await next()
  const retired = first.retire()
  for (const i of [0, 1, 2]) assert.is((await ask(i)).connection, 'close', paths[i])
  await retired
  for (const i of [0, 1, 2]) assert.is((await ask(i)).connection, 'keep-alive', paths[i])
  assert.is(first.served(), 2)
  assert.is(second.served(), 1)
})

test('an idle connection is not cut, and closed after its time', async (t) => {
  const { port, next } = await startPlace(t, { timeouts: { keepAlive: 1_000 } })
  const first = await next()
  const [asks, idles] = [await open(t, port), await open(t, port)]
  for (const each of [asks, idles]) assert.match(await each.ask(), /connection: keep-alive/i)
  const since = performance.now()
  const retired = first.retire()
  assert.match(await asks.ask(), /connection: close/i)
  await asks.closed
  await idles.closed
  assert.ok(performance.now() - since > 500)
  await retired
  assert.is(first.served(), 3)
})

for (const [given, has] of [
  [60_000, 5_000],
  [1_000, 1_000],
] as const)
  test(`of ${given} ms to retire, an idle connection has ${has}, whatever its keep-alive`, async (t) => {
    const clock = createFakeClock()
    const { port, next } = await startPlace(t, {}, {}, clock)
    const first = await next()
    const idles = await open(t, port)
    assert.match(await idles.ask(), /keep-alive: timeout=120/i)
    let isClosed = false
    void idles.closed.then(() => (isClosed = true))
    const retired = first.retire(given)
    await clock.advance(has - 1)
    assert.not(isClosed)
    await clock.advance(1)
    await idles.closed
    await retired
  })

test('open requests are answered, and call streams run to their end', async (t) => {
  const held = holding()
  const { port, next } = await startPlace(t, {}, held.port)
  const first = await next()
  const agent = keptAlive(t)
  const answer = post(port, agent)
  const plain = await held.requests.next()
  const streamed = exchange(t, port.url, { body: { jsonrpc: '2.0', id: 2, method: 'slow' } })
  const slow = await held.requests.next()
  slow.sink.send({ jsonrpc: '2.0', method: 'notifications/before' })
  const reading = await streamed
  const retired = first.retire()
  let isRetired = false
  void retired.then(() => (isRetired = true))
  await named(reading, 'before')
  plain.answer()
  assert.is((await answer).connection, 'close')
  slow.sink.send({ jsonrpc: '2.0', method: 'notifications/after' })
  await named(reading, 'after')
  assert.not(isRetired)
  slow.answer({ done: true })
  await named(reading, 'done')
  await retired
})

test('when a listener retires, session streams end and move elsewhere', async (t) => {
  const held = holding()
  const { port, next } = await startPlace(t, {}, held.port)
  const first = await next()
  const stream = await exchange(t, port.url, get)
  await held.readers.next()
  const agent = keptAlive(t)
  const late = keptAlive(t)
  const answer = post(port, agent)
  const [request] = [await held.requests.next()]
  await Promise.all([post(port, late, '/other')])
  await next()
  const retired = first.retire()
  await stream.ended
  assert.is(await post(port, late, '/mcp', { method: 'GET' }).then(({ status }) => status), 200)
  request.answer()
  await answer
  await retired
  const again = await exchange(t, port.url, get)
  assert.is(again.status, 200)
})

for (const secure of [false, true])
  test(`no request is lost while listeners take turns${secure ? ' with TLS' : ''}`, async (t) => {
    const certificate = selfSigned()
    const { port, next } = await startPlace(t, secure ? { tls: certificate } : {})
    let current = await next()
    let isOver = false
    const { cert: ca } = certificate
    const loops: Promise<number>[] = []
    const loop = async (ask: () => Promise<unknown>): Promise<number> => {
      let count = 0
      for (; !isOver; count += 1) await ask()
      return count
    }
    const agent = secure
      ? new https.Agent({ keepAlive: true, ca })
      : new Agent({ keepAlive: true, maxSockets: 3 })
    t.after(() => agent.destroy())
    for (let i = 0; i < 4; i++)
      loops.push(
        loop(async () => assert.is((await post(port, agent)).status, 200)),
        loop(async () => {
          // now and then a connection is idle for a while
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
          assert.is((await post(port, agent)).status, 200)
        }),
      )
    if (!secure)
      for (let i = 0; i < 4; i++)
        loops.push(
          loop(async () => {
            const response = await fetch(port.url, { method: 'POST', headers: goodHeaders, body: ping })
            assert.is(response.status, 200)
            await response.text()
          }),
        )
    const tls = secure ? { tls: { ca } } : {}
    const client = startClient({ transport: http(port.url, tls) })
    t.after(() => client.close())
    loops.push(loop(() => client.ping()))
    for (let turn = 0; turn < 6; turn++) {
      while (current.served() < 100) await new Promise((resolve) => setTimeout(resolve, 5))
      const before = current
      current = await next()
      await before.retire()
      await before.stop()
    }
    isOver = true
    const counts = await Promise.all(loops)
    for (const count of counts) assert.ok(count > 10, String(counts))
  })

test.run()

type Retiring = Listening & {
  retire(ms?: number): Promise<void>
  served(): number
}

type Place = {
  readonly port: SharedPort
  /** Starts one more listener, which takes the connections from now on. */
  next(): Promise<Retiring>
}

async function startPlace(
  t: TestContext,
  options: HttpServeOptions,
  given: Partial<Services> = {},
  clock?: Clock,
): Promise<Place> {
  const port = await sharePort(t, serveHttp(options))
  return {
    port,
    async next() {
      let served = 0
      const source = feeding(port)
      const serving: Partial<Services> = {
        open: async (initialize) => {
          const { protocolVersion } = initialize.params as { protocolVersion: string }
          const serverInfo = { name: 'retiring', version: '1' }
          const result = { protocolVersion, capabilities: {}, serverInfo }
          return { sessionId: 's', response: buildResult(initialize.id, result) }
        },
        deliver: async (_id, message) => {
          served += 1
          return isRequest(message) ? buildResult(message.id, {}) : undefined
        },
        ...given,
      }
      const listening = await startListener(
        t,
        serving,
        {},
        {
          transport: port.sharing.serve(source),
          ...(clock && { clock }),
        },
      )
      port.giveTo((socket, ended) => {
        socket.once('close', ended)
        source.give(socket)
      })
      const { binding } = listening
      return { ...listening, retire: async (ms = 60_000) => binding.retire?.(ms), served: () => served }
    },
  }
}

/** Waits for an event with this in it. */
async function named(reading: Reading, text: string): Promise<void> {
  while (!(await reading.next()).data.includes(text));
}

/** A connection that the client never closes. */
async function open(
  t: TestContext,
  { port }: SharedPort,
): Promise<{ ask(): Promise<string>; closed: Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.setEncoding('utf8')
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const headers = Object.entries({ ...goodHeaders, host: 'localhost', 'content-length': ping.length })
  const lines = ['POST /mcp HTTP/1.1', ...headers.map(([name, value]) => `${name}: ${value}`)]
  return {
    closed,
    ask() {
      socket.write(`${lines.join('\r\n')}\r\n\r\n${ping}`)
      return new Promise((resolve) => socket.once('data', (text) => resolve(String(text))))
    },
  }
}

/** Keeps one connection. */
function keptAlive(t: TestContext): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  return agent
}

function post(
  { url }: SharedPort,
  agent: Agent,
  path = '/mcp',
  { method = path === '/healthz' ? 'GET' : 'POST' } = {},
): Promise<{ status: number | undefined; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const to = new URL(path, url)
    const send = to.protocol === 'https:' ? https.request : request
    const sent = send(to, { method, agent, headers: goodHeaders })
    sent.on('error', reject).on('response', (response) => {
      const { statusCode: status, headers } = response
      response.resume().once('end', () => resolve({ status, connection: headers.connection }))
    })
    sent.end(method === 'POST' ? ping : undefined)
  })
}
