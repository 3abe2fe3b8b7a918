import { randomUUID } from 'node:crypto'
import type { Contender } from '../measure.js'

/** The official SDK 1.x, a server and a transport for each session. */
export const contender: Contender = {
  async http() {
    const { serveSessions } = await import('./session-routes.js')
    const { StreamableHTTPServerTransport } = await import(
      '@modelcontextprotocol/sdk/server/streamableHttp.js'
    )
    const createEcho = await readyEcho()
    return serveSessions(async (opened) => {
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: opened,
      })
      await createEcho().connect(transport as Parameters<ReturnType<typeof createEcho>['connect']>[0])
      return transport
    })
  },
  async stdio() {
    const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
    const createEcho = await readyEcho()
    await createEcho().connect(new StdioServerTransport())
    process.stdin.on('end', () => process.exit())
  },
  async client(server) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const client = new Client({ name: 'bench', version: '1.0.0' })
    if ('url' in server) {
      const { StreamableHTTPClientTransport } = await import(
        '@modelcontextprotocol/sdk/client/streamableHttp.js'
      )
      const transport = new StreamableHTTPClientTransport(new URL(server.url))
      await client.connect(transport as Parameters<typeof client.connect>[0])
    } else {
      const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
      await client.connect(new StdioClientTransport({ command: server.command, args: [...server.args] }))
    }
    return async (text) => {
      const { content } = await client.callTool({ name: 'echo', arguments: { text } })
      const [first] = content as { text?: unknown }[]
      return first?.text
    }
  },
}

async function readyEcho() {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js')
  const { z } = await import('zod')
  const inputSchema = z.object({ text: z.string() })
  return () => {
    const server = new McpServer({ name: 'echo', version: '1.0.0' })
    server.registerTool('echo', { description: 'Says the text again', inputSchema }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }))
    return server
  }
}
