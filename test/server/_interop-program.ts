import type { Server } from '../../server/server.js'
import { startServer } from '../../server/server-supervisor.js'
import { serveStdio } from '../../transports/stdio/server.js'
import { interopDefinition } from './_interop-definition.js'

// what clients of others are tried with, on standard input and output
const server: Server = await startServer(
  interopDefinition(() => server),
  { transport: serveStdio() },
)
