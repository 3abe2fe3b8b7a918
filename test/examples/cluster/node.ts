import { defineServer, defineTool, redis, serveHttp, startServer } from 'caduceus'

const count = defineTool({
  name: 'count',
  description: 'Counts the calls of this session.',
  session: true,
  async run(_args, ctx) {
    return String(await ctx.update('count', (n = 0) => n + 1))
  },
})

const counters = defineServer({ name: 'counters', version: '1.0.0', tools: [count] })
const { url } = await startServer(counters, {
  // /readyz says whether this node can serve; it says no for a second before the node stops
  transport: serveHttp({ port: Number(process.env.PORT ?? 3000), health: true, drainDelay: 1_000 }),
  engine: redis({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
})
console.log(url)
