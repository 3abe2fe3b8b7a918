import { defineServer, defineTool, http, serveHttp, startClient, startServer } from 'caduceus'

const development = process.env.NODE_ENV === 'development'
const greet = defineTool({ name: 'greet', run: () => 'hello' })
const definition = defineServer({ name: 'greeter', version: '1.0.0', tools: [greet] })

await using server = await startServer(definition, {
  transport: serveHttp({ port: Number(process.env.PORT ?? 0) }),
  exposeErrors: development, // crashes and stacks, told to clients
  logLevels: { 'server.request': development ? 'debug' : 'info' }, // every request, or those that failed
})
await using client = startClient({ transport: http(server.url ?? ''), timeout: 10_000 })
console.log((await client.callTool('greet')).text)
