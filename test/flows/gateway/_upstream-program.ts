// A server on standard input and output: who it is, and a call that never ends.
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'

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
await startServer(definition, { transport: serveStdio(), logger: false })
