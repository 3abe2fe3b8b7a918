import { defineResource } from '../../server/definitions/define-resource.js'
import { defineServer } from '../../server/definitions/define-server.js'
import { defineTool } from '../../server/definitions/define-tool.js'
import { createFileStore } from '../../server/stores/file-store.js'
import { sealedIds } from '../../server/holdings/sealed-ids.js'
import { startServer } from '../../server/server-supervisor.js'
import { serveHttp } from '../../transports/http/server/serve.js'

// serves on a folder, says where, and tells of its resource when asked to
const [folder = '', key = ''] = process.argv.slice(2)
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
  store: createFileStore({ folder }),
  ...(key !== '' && { sessionIds: sealedIds({ keys: [key] }) }),
  logger: false,
})
process.stdout.write(`${server.url}\n`)
