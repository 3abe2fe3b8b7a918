import { startServer } from '../../../server/server-supervisor.js'
import { sealedIds } from '../../../server/holdings/sealed-ids.js'
import { createFileStore } from '../../../server/stores/file-store.js'
import { serveHttp } from '../../../transports/http/server/serve.js'
import moving from './_moving-definition.js'

// serves on a folder, if there is one, with sealed ids if there is a key, and says where
const [folder = '', key = ''] = process.argv.slice(2)
const server = await startServer(moving, {
  transport: serveHttp(),
  ...(folder !== '' && { store: createFileStore({ folder }) }),
  ...(key !== '' && { sessionIds: sealedIds({ keys: [key] }) }),
  drainTimeout: 1_000,
  logger: false,
})
process.stdout.write(`${server.url}\n`)
