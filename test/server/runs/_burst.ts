// A server whose tool answers a megabyte at once: it says where it listens, and ends with its standard input.
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveWebSocket } from 'caduceus/transports'

const long = defineTool({ name: 'long', run: () => 'x'.repeat(1_000_000) })
const server = await startServer(defineServer({ name: 'burst', version: '1', tools: [long] }), {
  transport: serveWebSocket(),
  logger: false,
})
process.stdin.resume().on('end', () => void server.stop())
console.log(server.url)
