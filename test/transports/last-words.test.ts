import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { WebSocketServer } from 'ws'
import { buildRequest } from 'caduceus/protocol'
import { type ClientTransport, type Link, type LinkEvents, stdio, websocket } from 'caduceus/transports'
import { suite } from '../support/suite.js'
import { startLink } from './_link.js'

const test = suite('last words', { timeout: 10_000 })

test('the last answer of a server that ends without a newline is read', async (t) => {
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { last: 'größe' } })
  const program = `process.stdin.once('data', () => process.stdout.write(${JSON.stringify(answer)}, () => process.exit(3)))`
  const link = await startLink(t, stdio({ command: process.execPath, args: ['-e', program] }))
  link.open(1)
  link.send(1, buildRequest(1, 'ping'))
  assert.equal((await link.message()).result, { last: 'größe' })
  assert.equal((await link.closed()).error?.data, { exitCode: 3, signal: null, stderr: [] })
})

test('messages on an ended or never opened connection are reported as lost', async (t) => {
  const made: LinkEvents[] = []
  const sent: string[] = []
  const transport: ClientTransport = {
    name: 'puppet',
    connect(events): Link {
      made.push(events)
      return { send: (text) => void sent.push(text), close: () => events.closed({}) }
    },
  }
  const link = await startLink(t, transport)
  link.open(1)
  link.send(1, buildRequest(1, 'ping'))
  while (sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
  made[0]?.closed({})
  link.send(1, buildRequest(2, 'ping'))
  await link.closed()
  link.send(1, buildRequest(3, 'ping'))
  link.send(7, buildRequest(4, 'ping'))
  link.open(2)
  link.send(2, buildRequest(5, 'ping'))
  while (sent.length < 2) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(
    sent.map((text) => JSON.parse(text).id),
    [1, 5],
  )
})

test('a WebSocket closed while it opens closes in order and was never open', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' })
  if (server.address() === null) await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    return new Promise((resolve) => server.close(resolve))
  })
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const link = await startLink(t, websocket(url))
  for (let number = 1; number <= 20; number++) {
    link.open(number)
    if (number % 2 === 0) await new Promise((resolve) => setImmediate(resolve))
    link.close(number)
    const first = await link.news.next(({ type }) => type === 'opened' || type === 'closed')
    assert.is(first.type, 'closed')
  }
})

test.run()
