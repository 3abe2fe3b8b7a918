import { defineResource, defineServer, defineTool, files, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// serves on a folder, says where, and tells of its resource when asked to
const [folder = ''] = process.argv.slice(2)
const speak = defineTool({
  name: 'speak',
  run(_args, ctx) {
    for (const level of ['info', 'warning', 'error'] as const) ctx.log(level, level)
    return 'spoken'
  },
})
const publish = defineTool({
  name: 'publish',
  input: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
  async run({ uri }) {
    await server.resourceUpdated(uri)
  },
})
const definition = defineServer({
  name: 'wishes',
  version: '1.0.0',
  tools: [speak, publish],
  resources: ['a', 'b'].map((name) => defineResource({ name, uri: `news://${name}`, read: () => name })),
  logging: true,
})
const server = await startServer(definition, {
  transport: serveHttp(),
  engine: files({ folder }),
  logger: false,
})
process.stdout.write(`${server.url}\n`)
