import * as assert from 'uvu/assert'
import { connect } from 'node:net'
import type { Server } from 'caduceus/server'
import { websocket } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { connected, text } from '../_suite.js'
import { greet, listen, open } from './_websocket.js'

const test = suite('websocket frames', { timeout: 15_000 })

test('a binary frame closes with 1003 and an oversized message with 1009', async (t) => {
  const server = await listen(t, { limits: { messageBytes: 4 * 1024 * 1024 } })
  const before = await open(t, server)
  await greet(before)
  const binary = await open(t, server)
  binary.socket.send(Buffer.from('{}'), { binary: true })
  assert.is(await binary.closed, 1003)
  const long = await open(t, server)
  const told = new Promise((resolve) =>
    long.socket.once('close', (_code, reason) => resolve(reason.toString())),
  )
  long.socket.send('x'.repeat(4 * 1024 * 1024 + 1))
  assert.is(await long.closed, 1009)
  assert.is(await told, 'a message may have 4194304 bytes (limits.messageBytes)')
  before.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  assert.equal((await before.messages.next(({ id }) => id === 1)).result, {})
  const good = await open(t, server)
  await greet(good)
  const args = { name: 'echo', arguments: { text: 'y'.repeat(4 * 1024 * 1024 - 200) } }
  good.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: args }))
  const { result } = await good.messages.next(({ id }) => id === 1)
  assert.is(result?.content?.[0]?.text.length, 4 * 1024 * 1024 - 200)
})

/** A socket that writes frames as it likes, after a good handshake. */
async function rawFrames(t: TestContext, server: Server) {
  const socket = connect(Number(server.port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  const lines = [
    'GET /mcp HTTP/1.1',
    `host: 127.0.0.1:${server.port}`,
    'upgrade: websocket',
    'connection: upgrade',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol: mcp',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const chunks: Buffer[] = []
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (Buffer.concat(chunks).includes('\r\n\r\n')) resolve()
    })
  })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    socket,
    /** The code of the close frame that the server ends with. */
    async closeCode(): Promise<number> {
      await ended
      const all = Buffer.concat(chunks)
      const at = all.lastIndexOf(0x88)
      return all.readUInt16BE(at + 2)
    },
  }
}

/** A masked frame with a mask of zeros; `first` is its first byte. */
function frame(first: number, payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload)
  return Buffer.concat([Buffer.from([first, 0x80 | bytes.length, 0, 0, 0, 0]), bytes])
}

test('frames that break RFC 6455 close with 1002: mask, reserved bits, opcode, order', async (t) => {
  const server = await listen(t)
  const broken = {
    unmasked: Buffer.from([0x81, 2, 0x7b, 0x7d]),
    reserved: frame(0xc1, '{}'),
    opcode: frame(0x83, '{}'),
    continuation: frame(0x80, '{}'),
    longPing: Buffer.concat([Buffer.from([0x89, 0x80 | 126, 0, 126, 0, 0, 0, 0]), Buffer.alloc(126)]),
  }
  for (const [what, bytes] of Object.entries(broken)) {
    const raw = await rawFrames(t, server)
    raw.socket.write(bytes)
    assert.is(await raw.closeCode(), 1002, what)
  }
})

test('a text frame that is not UTF-8 closes with 1007', async (t) => {
  const raw = await rawFrames(t, await listen(t))
  raw.socket.write(frame(0x81, Buffer.from([0xff, 0xfe])))
  assert.is(await raw.closeCode(), 1007)
})

test('a flood of fragments closes with 1008 and affects no other', async (t) => {
  const server = await listen(t)
  const client = await connected(t, { connect: () => websocket(String(server.url)) })
  const raw = await rawFrames(t, server)
  raw.socket.write(frame(0x01, ''))
  const flood = Buffer.concat(Array.from({ length: 2_000 }, () => frame(0x00, 'x')))
  raw.socket.write(flood)
  assert.is(await raw.closeCode(), 1008)
  assert.is(await text(client, 'count'), '1')
})

test('a message in one-byte frames arrives whole', async (t) => {
  const server = await listen(t)
  const raw = await rawFrames(t, server)
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' }))
  const answer = new Promise<string>((resolve) =>
    raw.socket.once('data', (chunk: Buffer) => resolve(chunk.subarray(2).toString())),
  )
  bytes.forEach((byte, i) => {
    const first = i === 0 ? 0x01 : i === bytes.length - 1 ? 0x80 : 0x00
    raw.socket.write(frame(first, Buffer.from([byte])))
  })
  assert.equal(JSON.parse(await answer), { jsonrpc: '2.0', id: 7, result: {} })
})

test('a flood of pings to a client that does not read neither fills nor stops us', async (t) => {
  const server = await listen(t)
  const raw = await rawFrames(t, server)
  raw.socket.pause()
  const pings = Buffer.concat(Array.from({ length: 10_000 }, () => frame(0x89, 'x'.repeat(100))))
  raw.socket.write(pings)
  const client = await connected(t, { connect: () => websocket(String(server.url)) })
  assert.is(await text(client, 'count'), '1')
})

test.run()
