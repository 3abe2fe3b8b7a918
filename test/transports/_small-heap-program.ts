import { defineServer } from '../../server/definitions/define-server.js'
import { defineTool } from '../../server/definitions/define-tool.js'
import { startServer } from '../../server/server-supervisor.js'
import { serveHttp } from '../../transports/http/server/serve.js'
import { serveSse } from '../../transports/sse/serve.js'
import { serveWebSocket } from '../../transports/websocket/serve.js'

const texts = { type: 'object', properties: { text: { type: 'string' } } } as const
const measure = defineTool({
  name: 'measure',
  input: texts,
  run: ({ text }) => String((text as string).length),
})
const definition = defineServer({ name: 'small', version: '1.0.0', tools: [measure] })
const transport = [serveHttp(), serveSse(), serveWebSocket()]
const servers = await Promise.all(
  transport.map((one) => startServer(definition, { transport: one, logger: false })),
)
process.stdout.write(`${JSON.stringify(servers.map(({ url }) => url))}\n`)
