import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryAnswers } from './heap.js'
import { answer } from '../asked-program.js'

/** The limit: node:http, an id in a set, and an open response. */
const open = new Set<unknown>()
const connections = new Set<object>()

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (id === undefined) return void response.writeHead(202).end()
    const session = randomUUID()
    open.add(session)
    const result = { protocolVersion: params.protocolVersion, capabilities: {}, serverInfo: { name: 'bare' } }
    response.setHeader('mcp-session-id', session)
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
})
server.on('connection', (socket) => {
  connections.add(socket)
  socket.on('close', () => connections.delete(socket))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

answer({
  port: () => (server.address() as AddressInfo).port,
  connections: () => connections.size,
  ...memoryAnswers,
})
