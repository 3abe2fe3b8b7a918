import { defineServer, defineTool, serveHttp, startServer } from 'caduceus'
import { z } from 'zod'

const count = defineTool({
  name: 'count',
  description: 'Counts the calls of this session.',
  input: { by: z.int().default(1) },
  run: async ({ by }, ctx) => String(await ctx.update('count', (n = 0) => n + by)),
})
const definition = defineServer({ name: 'counter', version: '1.0.0', tools: [count] })
const server = await startServer(definition, { transport: serveHttp() })
console.log(server.url)
