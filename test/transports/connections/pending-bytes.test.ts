// second tier: time
// shares a process
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { startClient } from 'caduceus/client'
import { http, type Peer } from 'caduceus/transports'
import { socketLimits } from '../../../transports/websocket/connection.js'
import { ByteBudget } from '../../../transports/connections/byte-budget.js'
import { Unread } from '../../../transports/connections/unread.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('pending bytes', { timeout: 50_000 })
const program = fileURLToPath(new URL('../_small-heap-program.js', import.meta.url))
const MB = 1_000_000

const peerAt = (remoteAddress: string | undefined, subject?: string): Peer => ({
  transport: 'http',
  headers: {},
  remoteAddress,
  ...(subject !== undefined && { principal: { issuer: 'i', subject } }),
})

function budgetOf(pendingBytes: number, pendingBytesPerClient?: number, messageBytes = 1) {
  return new ByteBudget({ messageBytes, pendingBytes, pendingBytesPerClient })
}

test('a byte budget is exact and returns what it held', () => {
  const budget = budgetOf(100_000)
  const [first, second] = [budget.account(peerAt('127.0.0.1')), budget.account(peerAt('127.0.0.2'))]
  assert.is(first.add(60_000), undefined)
  const refused = second.add(40_001)
  assert.equal([refused?.code, refused?.retryable, refused?.data], ['BYTES_LIMIT', true, { client: false }])
  assert.match(refused?.message ?? '', 'limits.pendingBytes')
  assert.is(second.add(40_000), undefined)
  assert.is(budget.used, 100_000)
  first.release()
  first.release()
  assert.is(budget.used, 40_000)
  assert.is(second.set(10), undefined)
  assert.is(budget.used, 10)
})

test('a client has one share: by address, IPv6 network or principal', () => {
  for (const [one, same, other] of [
    [peerAt('192.0.2.1'), peerAt('192.0.2.1'), peerAt('192.0.2.2')],
    [peerAt('2001:db8::1'), peerAt('2001:db8::2'), peerAt('2001:db8:0:1::1')],
    [peerAt('192.0.2.1', 'ann'), peerAt('192.0.2.9', 'ann'), peerAt('192.0.2.1', 'bob')],
  ] as const) {
    const budget = budgetOf(200_000)
    const held = budget.account(one)
    for (const step of [10_000, 10_000, 80_000]) assert.is(held.add(step), undefined)
    const refused = budget.account(same).add(20_000)
    assert.equal([refused?.code, refused?.data], ['BYTES_LIMIT', { client: true }])
    assert.is(budget.account(other).add(100_000), undefined)
    held.release()
    assert.is(budget.account(same).add(100_000), undefined)
  }
})

test('loopback clients share the whole budget, unless a share is set', () => {
  assert.is(budgetOf(200_000).account(peerAt('127.0.0.1')).add(200_000), undefined)
  assert.is(budgetOf(200_000, 50_000).account(peerAt('127.0.0.1')).add(50_001)?.code, 'BYTES_LIMIT')
  assert.is(budgetOf(10, undefined, 50_000).account(peerAt('192.0.2.1')).add(50_000), undefined)
})

test('a closed socket holds no bytes', async () => {
  const budget = budgetOf(100_000)
  const socket = new Socket()
  const limits = { maxBufferedBytes: 10, timeout: 1_000, account: budget.account(peerAt('127.0.0.1')) }
  const unread = new Unread(socket, limits, { stuck: () => {} })
  assert.is(unread.add(20_000), undefined)
  assert.is(budget.used, 20_000)
  const closed = once(socket, 'close')
  socket.destroy()
  await closed
  assert.is(budget.used, 0)
  assert.is(unread.add(50_000), undefined)
  assert.is(budget.used, 0)
})

type Small = { readonly urls: readonly URL[]; readonly child: ChildProcess; rss(): number }

/** Servers over HTTP, HTTP+SSE and WebSocket in a process with a heap of 64 MiB. */
async function startSmall(t: TestContext): Promise<Small> {
  const child = spawn(process.execPath, ['--max-old-space-size=64', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => void child.kill('SIGKILL'))
  const urls = await new Promise<string[]>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(JSON.parse(chunk.toString())))
    child.once('exit', (code, signal) => reject(new Error(`it ended: ${code} ${signal}`)))
  })
  const rss = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1'))?.[1]) * 1_024
  return { urls: urls.map((url) => new URL(url)), child, rss }
}

/** A request in pieces, from an address of our choice; resolves with the status, once there is one. */
function begin(t: TestContext, url: URL, head: Record<string, string>, localAddress = '127.0.0.1') {
  const socket: Socket = connect({ host: '127.0.0.1', port: Number(url.port), localAddress })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  const headers = {
    host: url.host,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...head,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write(`POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  const status = new Promise<number>((resolve) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const found = /^HTTP\/1\.1 (\d+)/.exec(text)
      if (found !== null) resolve(Number(found[1]))
    })
    socket.once('close', () => resolve(0))
  })
  return { socket, status }
}

/** The server still serves, and is the process that it was. */
async function works({ urls: [url], child }: Small): Promise<void> {
  const client = startClient({ transport: http(String(url)), logger: false })
  const { text } = await client.callTool('measure', { text: 'abc' }).finally(() => client.close())
  assert.equal([text, child.exitCode, child.signalCode], ['3', null, null])
}

const chunk = Buffer.alloc(MB, 'b')

test('a 64 MiB heap survives many unfinished bodies, with and without a length', async (t) => {
  const small = await startSmall(t)
  const [url] = small.urls as readonly [URL]
  const before = small.rss()
  const all = Array.from({ length: 40 }, (_, index) => {
    const length = index % 2 === 0 ? { 'content-length': String(5 * MB) } : { 'transfer-encoding': 'chunked' }
    const one = begin(t, url, length, `127.0.0.${1 + (index % 50)}`)
    for (let sent = 0; sent < 4; sent++) {
      if (index % 2 === 1) one.socket.write(`${chunk.length.toString(16)}\r\n`)
      one.socket.write(chunk)
      if (index % 2 === 1) one.socket.write('\r\n')
    }
    return one
  })
  // all but those that there is room for are told so
  const statuses: number[] = []
  await Promise.race([
    Promise.all(all.map(async ({ status }) => statuses.push(await status))),
    new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (statuses.length < 30) return
        clearInterval(timer)
        resolve()
      }, 20)
    }),
  ])
  for (const status of statuses) assert.ok([503, 429, 413].includes(status), String(status))
  assert.ok(small.rss() - before < 120 * MB, `${(small.rss() - before) / MB} MB`)
  for (const { socket } of all) socket.destroy()
  await works(small)
})

test('a heap of 64 MiB survives ten calls of 4 MB at once, and serves them one by one', async (t) => {
  const small = await startSmall(t)
  const body = (id: number) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: {
        name: 'measure',
        arguments: { text: 'x'.repeat(4 * MB) },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    })
  const post = async (id: number) => {
    const response = await fetch(small.urls[0] as URL, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'measure',
      },
      body: body(id),
    })
    if (response.status === 503) assert.is(response.headers.get('retry-after'), '1')
    await response.text()
    return response.status
  }
  const statuses = await Promise.all(Array.from({ length: 10 }, (_, id) => post(id)))
  for (const status of statuses) assert.ok([200, 503].includes(status), String(statuses))
  assert.ok(statuses.includes(200), String(statuses))
  for (let id = 0; id < 5; id++) assert.is(await post(id), 200)
  await works(small)
})

test('an unknown session is refused before the body is read', async (t) => {
  const small = await startSmall(t)
  const [url] = small.urls as readonly [URL]
  for (const length of [
    { 'content-length': String(4 * MB) },
    { 'content-length': '100' },
    { 'transfer-encoding': 'chunked' },
  ]) {
    const { status } = begin(t, url, { 'mcp-session-id': 'nobody', ...length })
    assert.is(await status, 404)
  }
  const tooLong = begin(t, url, { 'content-length': String(100 * MB) })
  assert.is(await tooLong.status, 413)
  await works(small)
})

test('a 64 MiB heap survives unfinished WebSocket fragments and HTTP+SSE posts', async (t) => {
  const small = await startSmall(t)
  const [, stream, place] = small.urls as readonly [URL, URL, URL]
  const before = small.rss()
  const sockets = Array.from({ length: 12 }, () => new WebSocket(place, ['mcp']))
  t.after(() => {
    for (const socket of sockets) socket.terminate()
  })
  const closed = sockets.map(
    (socket) =>
      new Promise<number>((resolve) => socket.once('close', (code) => resolve(code)).on('error', () => {})),
  )
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('open', resolve))))
  for (const socket of sockets)
    for (let sent = 0; sent < 4; sent++) socket.send('x'.repeat(MB), { fin: false })
  const codes: number[] = []
  for (const one of closed) void one.then((code) => codes.push(code))
  while (codes.length < 6) await Promise.race(closed.map((one) => one.then(() => new Promise(setImmediate))))
  for (const code of codes) assert.ok([1013, 1006].includes(code), String(codes))
  assert.ok(small.rss() - before < 120 * MB, `${(small.rss() - before) / MB} MB`)
  for (const socket of sockets) socket.terminate()

  const opened = await fetch(stream, { headers: { accept: 'text/event-stream' } })
  const first = await opened.body?.getReader().read()
  const endpoint = /data: (\S+)/.exec(new TextDecoder().decode(first?.value))?.[1]
  const posts = Array.from({ length: 12 }, () => {
    const one = begin(t, new URL(String(endpoint), stream), { 'content-length': String(5 * MB) })
    for (let sent = 0; sent < 4; sent++) one.socket.write(chunk)
    return one
  })
  const refused = await Promise.race(posts.map(({ status }) => status))
  assert.is(refused, 503)
  await works(small)
})

test('a socket is limited by what ws can count, however much is allowed', () => {
  for (const most of [2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER])
    assert.is(socketLimits(most).maxPayload | 0, 2 ** 31 - 1)
  assert.is(socketLimits(1_000).maxPayload, 1_000)
})

test.run()
