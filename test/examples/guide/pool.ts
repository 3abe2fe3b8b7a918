import {
  type ClientPool,
  defineServer,
  defineTool,
  http,
  serveHttp,
  startClientPool,
  startServer,
} from 'caduceus'

const visit = defineTool({
  name: 'visit',
  session: true,
  run: async (_args, ctx) => String(await ctx.update('visits', (n = 0) => n + 1)),
})
await using server = await startServer(defineServer({ name: 'shop', version: '1.0.0', tools: [visit] }), {
  transport: serveHttp(),
  logger: false,
})

await using pool: ClientPool = await startClientPool({
  transport: http(server.url ?? ''),
  size: 3,
  strategy: 'round_robin',
  logger: false,
})
const answers = await Promise.all([1, 2, 3].map(() => pool.callTool('visit')))
console.log('each client has its session:', answers.map(({ text }) => text).join(' '))

// one client for several calls, and nobody else has it meanwhile
const visits = await pool.transaction(async (client) => {
  await client.callTool('visit')
  return (await client.callTool('visit')).text
})
console.log(visits)

pool.onEvent(({ type }) => console.log(type))
const name = pool.add()
await pool.ready({ count: 4 })
console.log(await pool.remove(name), pool.members().length)
