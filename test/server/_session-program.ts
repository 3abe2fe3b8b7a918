import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'

// A server on standard input with a tool that needs a session.
const count = defineTool({
  name: 'count',
  session: true,
  async run(_args, ctx) {
    return String(await ctx.update('count', (n = 0) => n + 1))
  },
})
await startServer(defineServer({ name: 'counters', version: '1', tools: [count] }), {
  transport: serveStdio(),
})
