import { serveHttp, serveStdio, serveWebSocket, startServer } from '../../../index.js'
import { answer } from '../asked-program.js'
import definition from '../processes/server.js'

/** The server that is loaded, on one transport; what is limited is limited as it is by default. */
const [kind = 'http'] = process.argv.slice(2)
// the load says which address each of its clients has: those of this machine have no limits
const behindProxy = { trustProxy: true }

const transports = {
  http: () => serveHttp(behindProxy),
  modern: () => serveHttp(behindProxy),
  websocket: () => serveWebSocket(behindProxy),
  stdio: () => serveStdio(),
}

const server = await startServer(definition, { transport: transports[kind as keyof typeof transports]() })
if (kind !== 'stdio') answer({ port: () => server.port })
