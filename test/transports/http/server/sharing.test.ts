// second tier: time
import * as https from 'node:https'
import { connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { definePeer, type RefOf, startActor } from 'caduceus/runtime'
import {
  type HttpServeOptions,
  mount,
  serveHttp,
  serveSse,
  serveStdio,
  subscribeTransport,
  type TransportError,
} from 'caduceus/transports'
import { giveSocket } from '../../../../runtime/peers/give-socket.js'
import { selfSigned } from '../../../support/certificate.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, goodHeaders, raw, startListener } from '../../_listener.js'
import type node from '../_node.js'
import { feeding, type SharedPort, sharePort } from '../_shared.js'

const test = suite('shared http listener', { timeout: 30_000 })
const module = new URL('../_node.js', import.meta.url)
const get = { method: 'GET', headers: { accept: 'text/event-stream' } }

test('two processes serve one address, each its own connections', async (t) => {
  const { port, nodes, turn } = await startNodes(t, {}, 2)
  const pids = await Promise.all(nodes.map((each) => each.call('pid')))
  assert.equal(await Promise.all(nodes.map((each) => each.call('url'))), [port.url, port.url])
  assert.is(port.url, `http://127.0.0.1:${port.port}/mcp`)
  for (const at of [0, 1, 0]) {
    turn(at)
    assert.is(await askPid(t, port.url), pids[at])
  }
  turn(1)
  const stream = await exchange(t, port.url, {
    body: { jsonrpc: '2.0', id: 7, method: 'wait' },
  })
  assert.match((await stream.next()).data, 'notifications/waiting')
  turn(0)
  assert.is(await askPid(t, port.url), pids[0])
  await nodes[1]?.call('answer')
  assert.match((await stream.next()).data, String(pids[1]))
})

test('shared requests have the same checks: host, path, size, time', async (t) => {
  const { port, turn } = await startNodes(t, { limits: { messageBytes: 100 }, timeouts: { headers: 200 } }, 1)
  turn(0)
  const status = async (how: Parameters<typeof exchange>[2], url = port.url): Promise<number> =>
    (await exchange(t, url, how)).status
  assert.is(await status({ headers: { host: 'evil.example' } }), 403)
  assert.is(await status({}, new URL('/other', port.url).href), 404)
  assert.is(
    await status({
      body: `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(200)}"}`,
    }),
    413,
  )
  assert.match(await raw(port.port, 'POST /mcp HTTP/1.1\r\nhost: localhost\r\n'), /^HTTP\/1.1 408 /)
  assert.match(await raw(port.port), /^HTTP\/1.1 408 /, 'nothing is sent')
})

test('TLS is spoken by the process that serves', async (t) => {
  const { cert, key } = selfSigned()
  const { port, nodes, turn } = await startNodes(t, { tls: { cert, key: Buffer.from(key) } }, 1)
  assert.is(port.url, `https://127.0.0.1:${port.port}/mcp`)
  turn(0)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'ping',
    params: { big: 'x'.repeat(100_000) },
  })
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = https.request(port.url, {
      method: 'POST',
      headers: goodHeaders,
      ca: cert,
      agent: false,
    })
    sent.on('error', reject).on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
    })
    sent.end(body)
  })
  assert.is(JSON.parse(answer).result.pid, await nodes[0]?.call('pid'))
})

test('a killed process loses its connections, also those not yet taken', async (t) => {
  const { port, nodes, turn } = await startNodes(t, {}, 2)
  const [victim, other] = nodes
  turn(1)
  const safe = await exchange(t, port.url, {
    body: { jsonrpc: '2.0', id: 1, method: 'wait' },
  })
  turn(0)
  const stream = await exchange(t, port.url, get)
  const blocked = victim?.call('block', 60_000, { timeout: 60_000 }).catch(() => {})
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open(t, port.port)))
  victim?.kill()
  await Promise.all([stream.ended, blocked, ...sockets.map(({ closed }) => closed)])
  turn(1)
  assert.is(await askPid(t, port.url), await other?.call('pid'))
  await other?.call('answer')
  await safe.next()
  assert.match((await safe.next()).data, '"result"')
})

test('connections are counted for all processes together, until they have ended', async (t) => {
  const refused = heard<string | undefined>()
  t.after(subscribeTransport('connection', ({ type, reason }) => type === 'refused' && refused.add(reason)))
  const ends: (() => void)[] = []
  const port = await sharePort(
    t,
    serveHttp({ limits: { connections: 3, connectionsPerClient: 2 } }),
    (socket, ended) => {
      ends.push(ended)
      socket.destroy() // as one that another process has
    },
  )
  const [first, second] = [await open(t, port.port), await open(t, port.port)]
  await Promise.all([first.closed, second.closed])
  assert.is(ends.length, 2)
  await (await open(t, port.port)).closed
  assert.is(await refused.next(), 'client_limit')
  ends[0]?.()
  await (await open(t, port.port)).closed
  assert.is(ends.length, 3)
})

test('a connection more than all processes may have is refused', async (t) => {
  const refused = heard<string | undefined>()
  t.after(subscribeTransport('connection', ({ type, reason }) => type === 'refused' && refused.add(reason)))
  const port = await sharePort(t, serveHttp({ limits: { connections: 1 } }), () => {})
  await open(t, port.port)
  const { closed } = await open(t, port.port)
  await closed
  assert.is(await refused.next(), 'limit')
})

test('connections not taken over end with the address', async (t) => {
  const port = await sharePort(t, serveHttp(), () => {})
  const { closed } = await open(t, port.port)
  await port.release()
  await closed
  assert.is(await open(t, port.port).catch(({ code }) => code), 'ECONNREFUSED')
})

test('an address listened on again is the same', async (t) => {
  const transport = serveHttp()
  const { url, host, port, release } = await sharePort(t, transport)
  await release()
  assert.is((await sharePort(t, transport, undefined, { url, host, port })).url, url)
})

test('an address that stops listening keeps what is open', async (t) => {
  const { port, nodes, turn } = await startNodes(t, {}, 1)
  turn(0)
  const stream = await exchange(t, port.url, {
    body: { jsonrpc: '2.0', id: 7, method: 'wait' },
  })
  port.stopListening()
  assert.is(await open(t, port.port).catch(({ code }) => code), 'ECONNREFUSED')
  await nodes[0]?.call('answer')
  await stream.next()
  assert.match((await stream.next()).data, '"result"')
})

test('connections that come before the listener, and in between, wait for it', async (t) => {
  const port = await sharePort(t, serveHttp())
  const source = feeding(port)
  port.giveTo((socket) => source.give(socket))
  const early = exchange(t, port.url)
  const listening = await startListener(t, {}, {}, { transport: port.sharing.serve(source) })
  assert.is((await early).status, 200)
  assert.is(listening.url, port.url)
  assert.is(listening.port, port.port)
  await listening.restart()
  assert.is((await exchange(t, port.url)).status, 200)
  const stream = await exchange(t, port.url, get)
  await listening.stop()
  await stream.ended
})

test('a taken or public address fails as without sharing', async (t) => {
  const { port } = await sharePort(t, serveHttp())
  const taken = await sharePort(t, serveHttp({ port })).catch((error) => error.cause)
  assert.is((taken as TransportError).code, 'LISTEN_FAILED')
  assert.match((taken as TransportError).message, 'the port is in use')
})

test('options are given to another process as plain data', () => {
  const { cert, key } = selfSigned()
  const options = {
    port: 1234,
    tls: { cert, key: Buffer.from(key) },
    streams: { resume: { maxEvents: 5 } },
    allowedHosts: ['a'],
  }
  const plain = serveHttp(options).sharing?.options() as typeof options
  assert.equal({ ...plain, tls: { ...plain.tls, key: Buffer.from(plain.tls.key) } }, options)
  assert.is(plain.tls.key.buffer.byteLength, key.length)
  assert.equal(structuredClone(plain), plain)
  assert.equal(serveHttp().sharing?.options(), {})
})

const authorizationServers = ['https://issuer.example']
const resource = 'https://mcp.example/mcp'
const unfit: readonly (readonly [field: string, options: HttpServeOptions])[] = [
  ['authenticate', { authenticate: () => undefined }],
  [
    'auth.verify',
    {
      auth: {
        resource,
        authorizationServers,
        verify: async () => ({ claims: {} }) as never,
      },
    },
  ],
  ['tls.SNICallback', { tls: { SNICallback: () => {} } }],
  ['tls.key[0]', { tls: { key: [new URL('file:///key') as never] } }],
]
for (const [field, options] of unfit)
  test(`${field} cannot be given to another process`, () => {
    const { sharing } = serveHttp(options)
    assert.throws(
      () => sharing?.options(),
      ({ code, data, message }: TransportError) =>
        code === 'BAD_OPTION' &&
        (data as { field: string }).field === field &&
        message.includes('export `options`'),
    )
  })

test('own servers and other listeners cannot be shared', async (t) => {
  const { sharing } = serveHttp({ server: https.createServer() })
  for (const use of [() => sharing?.options(), () => sharing?.serve(feeding({ url: '', host: '', port: 1 }))])
    assert.throws(
      use,
      ({ code, message }: TransportError) => code === 'BAD_OPTION' && message.includes('server'),
    )
  assert.is(
    await sharePort(t, { ...serveHttp(), ...(sharing && { sharing }) }).catch(({ cause }) => cause.code),
    'BAD_OPTION',
  )
  for (const transport of [mount(), serveSse(), serveStdio()]) assert.is(transport.sharing, undefined)
})

test.run()

type Nodes = {
  readonly port: SharedPort
  readonly nodes: readonly RefOf<typeof node>[]
  /** Connections go to this one from now on. */
  turn(index: number): void
}

async function startNodes(t: TestContext, options: HttpServeOptions, count: number): Promise<Nodes> {
  const port = await sharePort(t, serveHttp(options))
  const { url, host } = port
  const args = {
    options: port.sharing.options(),
    address: { url, host, port: port.port },
  }
  const peer = definePeer<typeof node>({ kind: 'process', module, args })
  const nodes = await Promise.all(
    Array.from({ length: count }, async () => {
      const started = await startActor(peer, undefined, {
        startTimeout: 20_000,
        logger: false,
      })
      t.after(() => started.alive && started.stop())
      return started
    }),
  )
  const turn = (index: number): void =>
    port.giveTo((socket) => {
      const to = nodes[index]
      if (to === undefined || !giveSocket(to, 'take', socket)) socket.destroy()
    })
  return { port, nodes, turn }
}

async function askPid(t: TestContext, url: string): Promise<number> {
  const { ended } = await exchange(t, url)
  return JSON.parse(await ended).result.pid
}

/** A connection that nothing is sent on. */
async function open(t: TestContext, port: number): Promise<{ socket: Socket; closed: Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  socket.on('error', () => {}).resume()
  return { socket, closed }
}
