import { createFileStore, defineServer, defineTool, sealedIds, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// a server that is killed and started again: [port] [folder, or nothing] [key, or nothing] [shared, or nothing]
const [port = '0', folder = '', key = '', shared = ''] = process.argv.slice(2)

const count = defineTool({
  name: 'count',
  async run(_args, ctx) {
    const counted = await ctx.update('count', (n: number = 0) => n + 1)
    const { id, client, revision, capabilities } = ctx.session
    return JSON.stringify({ count: counted, session: { id, client, revision, capabilities } })
  },
})

const server = await startServer(defineServer({ name: 'restart', version: '1.0.0', tools: [count] }), {
  transport: serveHttp({
    port: Number(port),
    authenticate: ({ headers: { authorization: subject } }) =>
      typeof subject === 'string' ? { issuer: 'the tests', subject } : 'anonymous',
  }),
  logger: false,
  ...(folder !== '' && { store: createFileStore({ folder, shared: shared === 'shared' }) }),
  ...(key !== '' && { sessionIds: sealedIds({ keys: [key] }) }),
})
process.stdout.write(`${server.port}\n`)
