import { defineServer, defineTool, redis, startServer } from 'caduceus/server'
import { oidc, serveHttp, signIn } from 'caduceus/transports'

// One node of several that sign users in: node _node-program.js REDIS RESOURCE ISSUER. It says where it serves.
const [url = '', resource = '', issuer = ''] = process.argv.slice(2)
const whoami = defineTool({
  name: 'whoami',
  run: (_args, { principal }) => `${principal?.subject} at ${process.pid}`,
})
const credentials = defineTool({
  name: 'credentials',
  run: async (_args, ctx) => (await ctx.credentials()).accessToken,
})
const login = oidc({ issuer, clientId: 'fake-client', clientSecret: 'fake-secret' })
const server = await startServer(defineServer({ name: 'shop', version: '1', tools: [whoami, credentials] }), {
  transport: serveHttp({ auth: signIn({ with: login, resource }) }),
  engine: redis({ url, keys: ['what all nodes of this cluster sign with'] }),
  logger: false,
})
process.stdout.write(`${server.port}\n`)
