import { defineServer, defineTool, http, serveHttp, startClient, startServer } from 'caduceus'
import { crash } from 'caduceus/testing'

let calls = 0
const price = defineTool({
  name: 'price',
  annotations: { readOnlyHint: true }, // a call that changes nothing may be made again
  async run() {
    calls++
    if (calls === 1) await crash(server, { part: 'tasks' }) // what runs the handlers dies, and comes back
    return '42'
  },
})
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [price] })
const server = await startServer(shop, { transport: serveHttp(), logger: false })
await using client = startClient({
  transport: http(server.url ?? ''),
  retry: { attempts: 3, backoff: () => 10 },
  retryBudget: { perMinute: 10 }, // of all calls together
})
await client.listTools() // the client learns of the hint

console.log((await client.callTool('price')).text, 'after', calls, 'calls')
calls = 0
const error = await client
  .callTool('price', {}, { retry: 'never' })
  .catch(({ code, retryable }: { code: string; retryable: boolean }) => ({ code, retryable }))
console.log(error)
await server.stop()
