import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
import { files, serveHttp, type Server, serveStdio, startServer } from 'caduceus'
import { serveSse, serveWebSocket } from 'caduceus/transports'
import { namesOf } from '../../server/base/names.js'
import { soakServer } from './definition.js'
import type { HostCommand, HostNews } from './host-words.js'

/**
 * A server of the soak as a program: LOG, the folder for sessions over HTTP or `memory`, and `stdio` or the
 * ports for HTTP, HTTP+SSE and WebSocket (0: any).
 */
const [log = '', sessions = 'memory', ...ports] = process.argv.slice(2)
const servers: Server[] = []
const changed = async (uri: string): Promise<void> => {
  await Promise.all(servers.map((server) => server.resourceUpdated(uri)))
}

if (ports[0] === 'stdio') await begin('stdio', serveStdio())
else {
  const [httpPort, ssePort, webSocketPort] = ports.map(Number)
  await begin('http', serveHttp({ port: httpPort ?? 0 }))
  await begin('sse', serveSse({ port: ssePort ?? 0 }))
  await begin('websocket', serveWebSocket({ port: webSocketPort ?? 0 }))
  process.on('message', (command: HostCommand) => void obey(command))
  process.once('disconnect', () => process.exit())
  tell({ type: 'up', urls: servers.map(({ url }) => url ?? '') })
}

async function begin(name: string, transport: ReturnType<typeof serveStdio>): Promise<void> {
  const signals = name === 'stdio'
  servers.push(
    await startServer(soakServer(log, changed), {
      transport,
      name,
      logger: false,
      signals,
      timeouts: { drain: 500 },
      ...(name === 'http' && sessions !== 'memory' && { engine: files({ folder: sessions }) }),
    }),
  )
}

async function obey(command: HostCommand): Promise<void> {
  if (command === 'crash')
    for (const { name, registry } of servers) registry.whereis(namesOf(name).transport)?.kill()
  if (command === 'forget') await forget()
  if (command === 'count') tell({ type: 'count', sockets: countSockets() })
  if (command !== 'stop') return
  await Promise.all(servers.map((server) => server.stop()))
  process.disconnect()
}

/** Ends the sessions over HTTP that run now, as any client could: whose they are finds out with what it does next. */
async function forget(): Promise<void> {
  const [over] = servers
  if (over?.url === undefined) return
  for (const { id } of await over.sessions()) {
    const event = { type: 'ended', program: basename(log), session: id } as const
    appendFileSync(log, `${JSON.stringify(event)}\n`)
    await fetch(over.url, { method: 'DELETE', headers: { 'mcp-session-id': id } }).catch(() => {})
  }
}

function countSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}

function tell(news: HostNews): void {
  process.send?.(news)
}
