import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { defineServer, defineTool, http, introspection, serveHttp, startServer, withClient } from 'caduceus'
import { insufficientScope } from 'caduceus/transports'

// stands for the authorization server: it says what a token is good for (RFC 7662)
const issuer = createServer((_request, response) => {
  const facts = { active: true, iss: 'https://login.example.com', sub: 'ada', aud: resource, scope: 'read' }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(facts))
}).listen(0, '127.0.0.1')
await once(issuer, 'listening')
const resource = 'https://mcp.example.com/mcp'
const endpoint = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/introspect`

const read = defineTool({ name: 'read', run: (_args, ctx) => `${ctx.principal?.subject} may read` })
const write = defineTool({ name: 'write', scopes: ['write'], run: () => 'written' })
await using server = await startServer(defineServer({ name: 'db', version: '1.0.0', tools: [read, write] }), {
  transport: serveHttp({
    auth: {
      resource,
      authorizationServers: ['https://login.example.com'],
      verify: introspection({
        issuer: 'https://login.example.com',
        endpoint,
        client: { id: 'db', secret: 'a secret' },
      }),
    },
  }),
  logger: false,
})

await withClient({ transport: http(server.url ?? '', { auth: 'any-token' }) }, async (client) => {
  console.log((await client.callTool('read')).text)
  const refused = await client.callTool('write').catch(({ code }: { code: unknown }) => code)
  console.log(refused === insufficientScope)
})
issuer.close()
