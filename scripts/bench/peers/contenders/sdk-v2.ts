import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { Contender } from '../measure.js'
import { moreNames } from './more-tools.js'

/** The official SDK 2.x, a server and a transport for each session; without sessions, a server for each request. */
export const contender: Contender = {
  async http() {
    const { serveSessions } = await import('./session-routes.js')
    const { NodeStreamableHTTPServerTransport } = await import('@modelcontextprotocol/node')
    const createEcho = await readyEcho()
    return serveSessions(async (opened) => {
      const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: opened,
      })
      await createEcho().connect(transport as Parameters<ReturnType<typeof createEcho>['connect']>[0])
      return transport
    })
  },
  async modern(more) {
    const [{ createServer }, { toNodeHandler }, { createMcpHandler }] = await Promise.all([
      import('node:http'),
      import('@modelcontextprotocol/node'),
      import('@modelcontextprotocol/server'),
    ])
    const handler = createMcpHandler(await readyEcho(more))
    const handle = toNodeHandler(handler)
    const server = createServer((request, response) => {
      void handle(request as Parameters<typeof handle>[0], response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  },
  async stdio() {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    serveStdio(await readyEcho())
    process.stdin.on('end', () => process.exit())
  },
  async client(server) {
    const { Client } = await import('@modelcontextprotocol/client')
    const client = new Client({ name: 'bench', version: '1.0.0' })
    if ('url' in server) {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
      const transport = new StreamableHTTPClientTransport(new URL(server.url))
      await client.connect(transport as Parameters<typeof client.connect>[0])
    } else {
      const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
      await client.connect(new StdioClientTransport({ command: server.command, args: [...server.args] }))
    }
    return async (text) => {
      const { content } = await client.callTool({ name: 'echo', arguments: { text } })
      const [first] = content as { text?: unknown }[]
      return first?.text
    }
  },
}

async function readyEcho(more = 0) {
  const { McpServer } = await import('@modelcontextprotocol/server')
  const { z } = await import('zod')
  const inputSchema = z.object({ text: z.string() })
  const moreSchema = z.object({
    query: z.string().describe('What to look for'),
    limit: z.number().int().min(1).max(100).describe('How many rows'),
    order: z.enum(['asc', 'desc']),
    tags: z.array(z.string()).optional(),
  })
  const others = moreNames(more)
  return () => {
    const server = new McpServer({ name: 'echo', version: '1.0.0' })
    server.registerTool('echo', { description: 'Says the text again', inputSchema }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }))
    for (const name of others) {
      const about = { description: `Is never called (${name})`, inputSchema: moreSchema }
      server.registerTool(name, about, () => ({ content: [{ type: 'text', text: 'called' }] }))
    }
    return server
  }
}
