import { defineServer } from '../../server/definitions/define-server.js'
import { startServer } from '../../server/server-supervisor.js'
import { serveStdio } from '../../transports/stdio/server.js'

await startServer(defineServer({ name: 'unwanted', version: '1.0.0' }), {
  transport: serveStdio(),
  start: false,
  logger: false,
})
