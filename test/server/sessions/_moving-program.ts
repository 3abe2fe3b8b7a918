import { files, sealed, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import moving from './_moving-definition.js'

// serves on a folder, or with sealed ids if there is a key, and says where
const [folder = '', key = ''] = process.argv.slice(2)
const server = await startServer(moving, {
  transport: serveHttp(),
  engine: key === '' ? files({ folder }) : sealed({ keys: [key] }),
  timeouts: { drain: 1_000 },
  logger: false,
})
process.stdout.write(`${server.url}\n`)
