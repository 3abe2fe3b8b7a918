import { type Server, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'
import { interopDefinition } from './_interop-definition.js'

// what clients of others are tried with, on standard input and output
const server: Server = await startServer(
  interopDefinition(() => server),
  { transport: serveStdio() },
)
