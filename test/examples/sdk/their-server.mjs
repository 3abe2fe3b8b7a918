import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const transports = new Map()

function createCounter() {
  let count = 0
  const server = new McpServer({ name: 'counter', version: '1.0.0' })
  server.registerTool(
    'count',
    { description: 'Counts the calls of this session.', inputSchema: { by: z.int().default(1) } },
    async ({ by }) => {
      count += by
      return { content: [{ type: 'text', text: String(count) }] }
    },
  )
  return server
}

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => transports.set(id, transport),
  })
  transport.onclose = () => transports.delete(transport.sessionId)
  await createCounter().connect(transport)
  return transport
}

const http = createServer(async (request, response) => {
  try {
    const body = request.method === 'POST' ? await json(request) : undefined
    const known = transports.get(request.headers['mcp-session-id'])
    const transport = known ?? (isInitializeRequest(body) ? await openSession() : undefined)
    if (transport === undefined) return response.writeHead(404).end()
    await transport.handleRequest(request, response, body)
  } catch {
    if (!response.headersSent) response.writeHead(500).end()
  }
})
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`))
