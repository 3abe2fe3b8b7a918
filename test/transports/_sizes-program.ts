import { startServer } from '../../server/server-supervisor.js'
import { serveStdio } from '../../transports/stdio/server.js'
import { sizes } from './_sizes.js'

const maxMessageBytes = Number(process.argv[2])
const transport = serveStdio(maxMessageBytes > 0 ? { maxMessageBytes } : {})
await startServer(sizes, { transport, logger: false })
