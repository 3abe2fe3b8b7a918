import { gateway, http, serveHttp, startClient, startServer, stdio } from '../../../index.js'
import { answer } from '../asked-program.js'

/** A gateway to one server: at this address, or started as this program. */
const [url, program] = process.argv.slice(2)

const transport =
  program === undefined ? http(String(url)) : stdio({ command: process.execPath, args: [program] })
const client = await startClient({ name: 'up', transport, logger: false })
await client.ready()
const server = await startServer(gateway({ up: client }, { name: 'gateway' }), {
  transport: serveHttp({ timeouts: { keepAlive: 600_000 } }),
  limits: { sessions: 100_000 },
  logger: false,
})
answer({ port: () => server.port })
