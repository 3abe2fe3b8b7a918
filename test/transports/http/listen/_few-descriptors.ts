import { defineServer } from '../../../../server/definitions/define-server.js'
import { startServer } from '../../../../server/server-supervisor.js'
import { serveHttp } from '../../../../transports/http/server/serve.js'

const definition = defineServer({ name: 'few', version: '1', tools: [] })
const { port } = await startServer(definition, { transport: serveHttp(), logger: false })
process.stdout.write(`${port}\n`)
