import { defineServer, defineTool, http, oauth, serveHttp, startClient, startServer } from 'caduceus'
import { freePort, startLogin } from './login.js' // an authorization server that knows the platform

await using login = await startLogin()
const port = await freePort()
const resource = `http://127.0.0.1:${port}/mcp`
const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => String(ctx.principal?.subject) })
await using _server = await startServer(defineServer({ name: 'files', version: '1.0.0', tools: [whoami] }), {
  transport: serveHttp({ port, auth: { resource, authorizationServers: [login.issuer] } }),
  logger: false,
})

// on Kubernetes: workload: { file: '/var/run/secrets/mcp/token', issuer: 'https://login.example.com' }
await using auth = oauth({ workload: { token: ({ audience }) => login.identityOf('agent-7', audience) } })
await using client = startClient({ transport: http(resource, { auth }) })
console.log((await client.callTool('whoami')).text)
