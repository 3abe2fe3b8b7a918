import { defineServer, defineTool, startServer, field } from '../dist/server/index.js'
import { serveStdio } from '../dist/transports/index.js'
const server = defineServer({
  name: 'one',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'echo',
      description: 'x',
      input: { type: 'object', properties: { text: { type: 'string' } } },
      run: ({ text }) => text,
    }),
  ],
})
await startServer(server, { transport: serveStdio() })
setTimeout(() => globalThis.__report?.(), 200).unref?.()
