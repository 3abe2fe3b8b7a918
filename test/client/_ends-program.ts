// Uses a server in one of several ways, says which processes served it, and has nothing more to do: Node ends by itself. Twice, and what is there right after the second time.
//   node _ends-program.js withClient|asyncDispose|startClients|startClientPool URL
import { type Client, startClient, startClientPool, startClients, withClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { raw } from './_raw.js'
import { rawEntry } from './_servers.js'

const [, , way = '', url = ''] = process.argv
const pids: string[] = []

const ways: Readonly<Record<string, () => Promise<void>>> = {
  async withClient() {
    const pid = await withClient({ transport: raw() }, async (client) => (await client.callTool('pid')).text)
    await withClient({ transport: http(url) }, (client) => client.ping())
    pids.push(pid)
  },
  async asyncDispose() {
    await using one = startClient({ name: 'one', transport: raw() })
    await using other = startClient({ name: 'other', transport: http(url) })
    await other.ping()
    pids.push((await one.callTool('pid')).text)
  },
  async startClients() {
    const servers = {
      one: rawEntry(),
      slow: rawEntry(['--init', 'hang']),
      web: { url },
      gone: { command: '/no/such/command' },
    }
    await using clients = await startClients(servers, { required: ['one', 'web'], logger: false })
    pids.push((await clients.get('one').callTool('pid'))?.text ?? '')
  },
  async startClientPool() {
    const transport = (member: number) => (member === 3 ? http(url) : raw())
    await using pool = await startClientPool({ transport, size: 3 })
    const found = new Set<string>()
    const look = async (client: Client): Promise<void> => {
      if (client.name !== 'pool-3') found.add((await client.callTool('pid')).text)
    }
    while (found.size < 2) await pool.transaction(look)
    pids.push(...found)
  },
}

// Both are made when they are first looked at, and count from then on.
void [process.stdout, process.stderr]
// The first time everything is loaded, and files are read for that.
await ways[way]?.()
await new Promise((resolve) => setTimeout(resolve, 100))
const before = process.getActiveResourcesInfo().sort()
await ways[way]?.()
let left = process.getActiveResourcesInfo().sort()
// the port of a thread that watches the loop closes in a turn of its own, which a busy machine may put off
for (let turn = 0; turn < 100 && left.includes('MessagePort') && !before.includes('MessagePort'); turn += 1) {
  await new Promise((resolve) => setTimeout(resolve, 10))
  left = process.getActiveResourcesInfo().sort()
}
console.log(JSON.stringify({ pids, before, left }))
