// second tier: time
// shares a process
// time limit: 120 s
import * as assert from 'uvu/assert'
import { WebSocketServer } from 'ws'
import type { AddressInfo } from 'node:net'
import { startClient } from 'caduceus/client'
import { type ClientTransport, http, stdio, websocket } from 'caduceus/transports'
import { cpuTime } from '../support/allowance.mjs'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { listen, polite, result, stream } from './_http.js'

const test = suite('floods', { timeout: 30_000 })

const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } }
const block = 1_000

/** Calls a tool that tells `count` things before it answers: all arrive, and everything else goes on meanwhile. */
async function flood(t: TestContext, transport: ClientTransport, count: number): Promise<void> {
  const client = startClient({ transport, logger: false, timeout: 25_000 })
  t.after(() => client.close())
  await client.ready()
  let heard = 0
  let mailbox = 0
  let longestTurn = 0
  let last = cpuTime()
  client.onNotification('notifications/message', () => {
    heard += 1
  })
  const told = client.callTool('tellMany', { count, text: 'x' }).then(({ text }) => text)
  while ((await Promise.race([told, turn()])) === undefined) {
    longestTurn = Math.max(longestTurn, cpuTime() - last)
    last = cpuTime()
    mailbox = Math.max(mailbox, ...(client.inspect().tree?.children ?? []).map((child) => child.mailbox))
  }
  assert.is(await told, 'told')
  assert.is(heard, count)
  assert.ok(longestTurn < 1_000, `a turn took ${longestTurn} ms of work`)
  assert.ok(mailbox < 50_000, `${mailbox} messages waited at once`)
  assert.is(client.inspect().counts.sessions, 1)
}

test('fault 61: a million stdio notifications throttle the server and lose nothing', async (t) => {
  const server = inRoot('test', 'support', 'raw-server.mjs')
  await flood(t, stdio({ command: process.execPath, args: [server] }), 1_000_000)
})

test('fault 61: 300,000 notifications on the stream of a call', async (t) => {
  const text = `data: ${JSON.stringify(note)}\n\n`.repeat(block)
  const server = await listen(
    t,
    polite(async (seen) => {
      const response = stream(seen)
      const count = Number((seen.message.params?.arguments as { count?: number } | undefined)?.count)
      for (let i = 0; i < count; i += block)
        if (!response.write(text)) await new Promise((resolve) => response.once('drain', resolve))
      const content = [{ type: 'text', text: 'told' }]
      response.end(`data: ${JSON.stringify(result(seen, { content }))}\n\n`)
    }),
  )
  await flood(t, http(server.url, { stream: false }), 300_000)
})

test('fault 61: 300,000 notifications over a WebSocket', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' })
  server.on('connection', (socket) => {
    socket.on('message', async (data) => {
      const { id, method, params } = JSON.parse(String(data))
      const answer = (value: object): void =>
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
      const serverInfo = { name: 'raw', version: '1' }
      if (method === 'initialize')
        answer({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
      else if (method === 'server/discover')
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
      if (method !== 'tools/call') return
      const text = JSON.stringify(note)
      for (let i = 0; i < params.arguments.count; i++)
        await new Promise<void>((resolve) => {
          socket.send(text, i % block === 0 ? () => resolve() : undefined)
          if (i % block !== 0) resolve()
        })
      answer({ content: [{ type: 'text', text: 'told' }] })
    })
  })
  if (server.address() === null) await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    return new Promise((resolve) => server.close(resolve))
  })
  await flood(t, websocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`), 300_000)
})

function turn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)))
}

test.run()
