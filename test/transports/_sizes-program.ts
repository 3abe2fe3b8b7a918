import { startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'
import { sizes } from './_sizes.js'

const messageBytes = Number(process.argv[2])
const transport = serveStdio(messageBytes > 0 ? { limits: { messageBytes } } : {})
await startServer(sizes, { transport, logger: false })
