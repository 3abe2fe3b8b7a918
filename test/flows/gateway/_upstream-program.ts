// A server on standard input and output: who it is, and a call that never ends.
import { defineServer } from '../../../server/definitions/define-server.js'
import { defineTool } from '../../../server/definitions/define-tool.js'
import { startServer } from '../../../server/server-supervisor.js'
import { serveStdio } from '../../../transports/stdio/server.js'

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
