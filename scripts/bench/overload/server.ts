import { serveHttp, serveStdio, serveWebSocket, startServer } from '../../../index.js'
import { answer } from '../asked-program.js'
import definition from '../processes/server.js'

/** The server that is loaded: on which transport, how many requests of a client it takes, how long they may wait. */
const [kind = 'http', most = '', waiting = ''] = process.argv.slice(2)
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
const server = await startServer(definition, {
  transport,
  ...(own && { limits: { waiting: own } }),
  ...(waiting !== '' && { timeouts: { waiting: Number(waiting) } }),
})
if (kind !== 'stdio') answer({ port: () => server.port })
