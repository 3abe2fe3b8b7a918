import { startServer } from '../../server/server-supervisor.js'
import { serveStdio } from '../../transports/stdio/server.js'
import { sizes } from './_sizes.js'

const messageBytes = Number(process.argv[2])
const transport = serveStdio(messageBytes > 0 ? { limits: { messageBytes } } : {})
await startServer(sizes, { transport, logger: false })
