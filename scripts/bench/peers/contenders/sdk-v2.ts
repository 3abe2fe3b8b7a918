import { randomUUID } from 'node:crypto'
import type { Contender } from '../measure.js'

/** The official SDK 2.x, a server and a transport for each session. */
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
  async stdio() {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    serveStdio(await readyEcho())
    process.stdin.on('end', () => process.exit())
  },
}

async function readyEcho() {
  const { McpServer } = await import('@modelcontextprotocol/server')
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
