import { serveHttp, serveStdio, serveWebSocket, startServer } from '../../../index.js'
import { answer } from '../asked-program.js'
import definition from '../processes/server.js'

/** The server that is loaded, on one transport, and how many requests one client may have there at once. */
const [kind = 'http', most = ''] = process.argv.slice(2)
const own = most === '' ? undefined : Number(most)
// the load says which address each of its clients has: those of this machine have no limits
const behindProxy = { trustProxy: true }

const http = () => serveHttp({ ...behindProxy, ...(own && { limits: { requestsPerClient: own } }) })
const transports = {
  http,
  modern: http,
  websocket: () => serveWebSocket(behindProxy),
  stdio: () => serveStdio(),
}

const transport = transports[kind as keyof typeof transports]()
const server = await startServer(definition, { transport, ...(own && { limits: { waiting: own } }) })
if (kind !== 'stdio') answer({ port: () => server.port })
