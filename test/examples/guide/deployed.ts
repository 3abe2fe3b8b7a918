import { defineServer, defineTool, files, serveHttp, startServer } from 'caduceus'

const hello = defineTool({ name: 'hello', run: () => 'hello' })
const server = await startServer(defineServer({ name: 'notes', version: '1.0.0', tools: [hello] }), {
  transport: serveHttp({
    host: '0.0.0.0', // all addresses of this machine
    port: Number(process.env.PORT ?? 0),
    allowedHosts: (process.env.HOSTS ?? 'mcp.example.com').split(','),
    trustProxy: process.env.BEHIND_PROXY === '1',
    health: true, // /healthz and /readyz
    metrics: process.env.METRICS === '1', // /metrics
    drainDelay: Number(process.env.DRAIN_DELAY ?? 0),
  }),
  engine: files({ folder: process.env.FOLDER ?? '/tmp/notes' }),
  timeouts: { drain: 10_000 },
  logLevels: { 'server.request': 'info' },
})
console.log(new URL(server.url ?? '').pathname)

const { port } = new URL(server.url ?? '')
for (const path of ['healthz', 'readyz'])
  console.log(path, (await fetch(`http://127.0.0.1:${port}/${path}`)).status)
await server.stop()
