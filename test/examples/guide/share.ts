import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Clients,
  defineServer,
  defineTool,
  serveHttp,
  shareClients,
  shared,
  sharedClients,
  startClient,
  startClients,
  startServer,
} from 'caduceus'
import type { Share } from 'caduceus/client'

const hello = defineTool({ name: 'hello', run: () => 'from the one server' })
await using server = await startServer(defineServer({ name: 'greeter', version: '1.0.0', tools: [hello] }), {
  transport: serveHttp(),
  logger: false,
})

// the program that owns the clients
const clients: Clients = await startClients({ greeter: { url: server.url ?? '' } }, { logger: false })
await clients.ready()
const path = join(mkdtempSync(join(tmpdir(), 'share-')), 'clients')
const share: Share = await shareClients(clients, { path, logger: false })

// any other program of this user
console.log((await sharedClients({ path })).map(({ name, phase }) => `${name}: ${phase}`).join(', '))
const greeter = startClient({ transport: shared('greeter', { path }) })
console.log((await greeter.callTool('hello')).text)

await greeter.close()
await share.close()
await clients.close()
