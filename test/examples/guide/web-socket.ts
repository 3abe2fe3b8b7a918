import {
  defineServer,
  defineTool,
  field,
  serveSse,
  serveWebSocket,
  sse,
  startServer,
  websocket,
  withClient,
} from 'caduceus'

const echo = defineTool({ name: 'echo', input: { say: field.string() }, run: ({ say }) => say })
const parrot = defineServer({ name: 'parrot', version: '1.0.0', tools: [echo] })

// one connection for both directions; not in the specification, so both sides have to agree on it
await using overWebSocket = await startServer(parrot, { transport: serveWebSocket(), logger: false })
console.log(new URL(overWebSocket.url ?? '').protocol)
const options = { transport: websocket(overWebSocket.url ?? '') }
console.log(await withClient(options, async (client) => (await client.callTool('echo', { say: 'hi' })).text))

// HTTP+SSE of 2024-11-05, for clients and servers that know nothing newer
await using overSse = await startServer(parrot, { transport: serveSse(), logger: false })
console.log(new URL(overSse.url ?? '').pathname)
const old = { transport: sse(overSse.url ?? '') }
console.log(await withClient(old, async (client) => (await client.callTool('echo', { say: 'old' })).text))
