import { defineServer, defineTool, records, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { commonRecords } from './engine/_common-records.js'

// One of several programs behind one address: node _shared-program.js FOLDER. It says where it serves.
const [folder = ''] = process.argv.slice(2)
const ask = defineTool({
  name: 'ask',
  async run(_args, ctx) {
    const { action } = await ctx.elicit('name', {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    })
    return `${action} at ${process.pid}`
  },
})
const server = await startServer(defineServer({ name: 'shared', version: '1', tools: [ask] }), {
  transport: serveHttp(),
  engine: records(commonRecords(folder)),
})
console.log(server.url)
