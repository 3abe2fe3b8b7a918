import { defineServer, defineTool, http, memoryAuthStorage, oauth } from 'caduceus'
import { serveHttp, startClient, startServer } from 'caduceus'
import { freePort, startLogin } from './login.js' // an authorization server that binds tokens to keys

await using login = await startLogin()
const port = await freePort()
const resource = `http://127.0.0.1:${port}/mcp`
const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => String(ctx.principal?.subject) })
await using _server = await startServer(defineServer({ name: 'files', version: '1.0.0', tools: [whoami] }), {
  transport: serveHttp({
    port,
    auth: { resource, authorizationServers: [login.issuer], dpop: { required: true } },
  }),
  logger: false,
})

const storage = memoryAuthStorage()
const own = { id: 'agent', secret: 's', issuer: login.issuer }
const credentials = { grant: 'client_credentials', client: own } as const
await using auth = oauth({ ...credentials, dpop: true, storage })
await using client = startClient({ transport: http(resource, { auth }) })
console.log((await client.callTool('whoami')).text)

// somebody who has read the token cannot use it
const stolen = await storage.read(`tokens ${login.issuer} ${resource}`)
const headers = { authorization: `Bearer ${stolen?.accessToken}` }
const { status, headers: told } = await fetch(resource, { method: 'POST', headers, body: '{}' })
console.log(status, told.get('www-authenticate')?.split(', resource_metadata')[0])
