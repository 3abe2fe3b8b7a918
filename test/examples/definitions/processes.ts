import { http, serveHttp, startClient, startServer } from 'caduceus'
import type { ServerProcesses } from 'caduceus/server'

const module = new URL('./shop.js', import.meta.url)
const options = { transport: serveHttp(), processes: 2, logger: false } as const
await using server: ServerProcesses = await startServer(module, options)
await using client = startClient({ transport: http(server.url ?? '') })

console.log((await client.callTool('add', { item: 'tea' })).text)
await server.reload() // as SIGHUP does: two new processes, one after the other
console.log((await client.callTool('add', { item: 'milk' })).text)
for (const node of await server.processes()) node.kill() // new ones take their place
console.log((await client.callTool('add', { item: 'bread' }, { retry: { attempts: 5, safe: true } })).text)
