// A server with a tool that leaves a rejection behind, of either official SDK or ours: node
// _compared-program.js sdk1|sdk2|ours
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { McpServer as SecondServer } from '@modelcontextprotocol/server'
import { serveStdio as serveSecond } from '@modelcontextprotocol/server/stdio'
import { defineServer, defineTool, serveStdio, startServer } from 'caduceus'

const info = { name: 'compared', version: '1.0.0' }
const stray = (): string => {
  void Promise.reject(new Error('nobody awaits this'))
  return 'done'
}
const pid = (): string => String(process.pid)
const wrapped = (run: () => string) => () => ({ content: [{ type: 'text' as const, text: run() }] })

const starts = {
  async sdk1() {
    const server = new FirstServer(info)
    server.registerTool('stray', {}, wrapped(stray))
    server.registerTool('pid', {}, wrapped(pid))
    await server.connect(new StdioServerTransport())
  },
  async sdk2() {
    serveSecond(() => {
      const server = new SecondServer(info)
      server.registerTool('stray', {}, wrapped(stray))
      server.registerTool('pid', {}, wrapped(pid))
      return server
    })
  },
  async ours() {
    const tools = [defineTool({ name: 'stray', run: stray }), defineTool({ name: 'pid', run: pid })]
    await startServer(defineServer({ ...info, tools }), { transport: serveStdio() })
  },
}
const [, , side = 'ours'] = process.argv
await starts[side as keyof typeof starts]()
