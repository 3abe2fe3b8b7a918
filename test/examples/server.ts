import { defineServer, defineTool, serveHttp, startServer } from 'caduceus'

const count = defineTool({
  name: 'count',
  description: 'Counts the calls of this session.',
  session: true, // what it counts is kept in the session of the caller
  input: { type: 'object', properties: { by: { type: 'integer' } } },
  async run({ by = 1 }, ctx) {
    return String(await ctx.update('count', (n = 0) => n + by))
  },
})

const counters = defineServer({ name: 'counters', version: '1.0.0', tools: [count] })
const server = await startServer(counters, {
  transport: serveHttp({ port: Number(process.env.PORT ?? 3000) }),
})
console.log(server.url)
