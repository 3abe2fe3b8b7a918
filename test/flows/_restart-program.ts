import { defineServer, defineTool, files, records, sealed, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { commonRecords } from '../server/engine/_common-records.js'

// a server that is killed and started again: [port] [files, records or sealed] [folder or key]
const [port = '0', how = '', of = ''] = process.argv.slice(2)
const engines = {
  files: () => files({ folder: of }),
  records: () => records(commonRecords(of)),
  sealed: () => sealed({ keys: [of] }),
}

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
  engine: engines[how as keyof typeof engines](),
})
process.stdout.write(`${server.port}\n`)
