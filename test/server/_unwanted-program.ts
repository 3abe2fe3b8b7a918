import { defineServer, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'

await startServer(defineServer({ name: 'unwanted', version: '1.0.0' }), {
  transport: serveStdio(),
  start: false,
  logger: false,
})
