import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  clientSpec,
  defineServer,
  memory,
  serverSpec,
  shareSpec,
  sharedClients,
  startSupervisor,
} from 'caduceus'

const { serve, connect } = memory()
const path = join(mkdtempSync(join(tmpdir(), 'share-')), 'clients')
const tree = await startSupervisor({
  strategy: 'one_for_one',
  logger: false,
  children: [
    serverSpec(defineServer({ name: 'notes', version: '1.0.0', tools: [] }), { transport: serve }),
    clientSpec({ name: 'notes', transport: connect }),
    shareSpec({ path }), // shares the clients of this tree
  ],
})
console.log((await sharedClients({ path })).map(({ name }) => name).join())
await tree.stop()
