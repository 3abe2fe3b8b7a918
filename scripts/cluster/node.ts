import { redis, type Server, serveHttp, startServer } from 'caduceus'
import { soakServer } from '../soak/definition.js'
import type { HostCommand, HostNews } from '../soak/host-words.js'

/** A node as a program: LOG, the address of the engine, its port, and what it shares with the others. */
const [log = '', url = '', port = '0', key = ''] = process.argv.slice(2)
const changed = async (uri: string): Promise<void> => {
  await server.resourceUpdated(uri)
}
/** Milliseconds that the time of day jumps: by more than ten minutes, states of calls that clients keep expire. */
const jump = 240_000
const time = { offset: 0 }
const now = Date.now
Date.now = () => now() + time.offset

const server: Server = await startServer(soakServer(log, changed), {
  transport: serveHttp({ port: Number(port), health: true, drainDelay: 1_500 }),
  name: 'node',
  logger: false,
  signals: false,
  timeouts: { drain: 5_000 },
  engine: redis({ url, keys: [key] }),
})
process.on('message', (command: HostCommand) => void obey(command))
process.once('disconnect', () => process.exit())
process.send?.({ type: 'up', urls: [server.url ?? ''] } satisfies HostNews)

async function obey(command: HostCommand): Promise<void> {
  if (command === 'later') time.offset += jump
  if (command === 'earlier') time.offset -= jump
  if (command !== 'stop') return
  await server.stop()
  process.disconnect()
}
