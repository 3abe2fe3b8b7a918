// A server on standard input and output, or over HTTP where PORT is set: who it is, and a call that never ends.
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp, serveStdio } from 'caduceus/transports'

const definition = defineServer({
  name: 'upstream',
  version: '1.0.0',
  tools: {
    pid: defineTool({ run: () => String(process.pid) }),
    echo: defineTool({
      input: { type: 'object', properties: { text: { type: 'string' } } },
      run: ({ text = '' }) => text,
    }),
    hang: defineTool({ run: () => new Promise<string>(() => {}) }),
  },
})
const { PORT } = process.env
const transport = PORT === undefined ? serveStdio() : serveHttp({ port: Number(PORT) })
await startServer(definition, { transport, logger: false })
