import { defineServer, defineTool, field, serveHttp, serveStdio, startServer } from '../../../index.js'
import { answer } from '../asked-program.js'

/** The server behind a gateway: on standard input, or at a port that its parent asks for. */
const definition = defineServer({
  name: 'upstream',
  version: '1.0.0',
  tools: { echo: defineTool({ input: { text: field.string() }, run: ({ text }) => text }) },
})

if (process.send === undefined) await startServer(definition, { transport: serveStdio(), logger: false })
else {
  const transport = serveHttp({ timeouts: { keepAlive: 600_000 } })
  const server = await startServer(definition, { transport, limits: { sessions: 100_000 }, logger: false })
  answer({ port: () => server.port })
}
