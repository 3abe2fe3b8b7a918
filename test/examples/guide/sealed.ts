import { defineServer, defineTool, http, sealed, serveHttp, startClient, startServer } from 'caduceus'

const whoami = defineTool({
  name: 'whoami',
  session: true,
  run: (_args, ctx) => `a session of ${ctx.session.client?.name}`,
})
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [whoami] })

// in production a secret from the environment, the same for every program behind the address
const keys = ['a secret of at least 32 characters']
const start = (port: number) =>
  startServer(shop, {
    transport: serveHttp({ port }),
    engine: sealed({ keys, maxAge: 3_600_000 }),
    logger: false,
  })

const one = await start(0)
await using client = startClient({
  transport: http(one.url ?? ''),
  clientInfo: { name: 'agent', version: '1' },
})
console.log((await client.callTool('whoami')).text)
await one.stop()
await using _two = await start(Number(new URL(one.url ?? '').port)) // with nothing but the keys in common
console.log((await client.callTool('whoami')).text)
