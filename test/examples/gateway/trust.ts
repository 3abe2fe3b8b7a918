import {
  defineServer,
  defineTool,
  gateway,
  http,
  serveHttp,
  startClients,
  startServer,
  withClient,
} from 'caduceus'
import type { Audit, Pins } from 'caduceus/server'

// a server as others write it, which has changed its mind since it was seen first
await using mail = await startServer(
  defineServer({
    name: 'mail',
    version: '1.0.0',
    tools: { read: defineTool({ description: 'Reads all letters.', run: () => 'Dear Ada, …' }) },
  }),
  { transport: serveHttp() },
)

/** Digests of definitions, by server: in a table of yours, or here. */
const accepted = new Map([['mail', new Map([['tool read', 'sha256-of-what-it-was']])]])
const listeners = new Set<() => void>()
const pins: Pins = {
  of: (server) => accepted.get(server) ?? new Map(),
  add(server, definitions) {
    const own = accepted.get(server) ?? new Map<string, string>()
    for (const [of, { digest }] of definitions) if (!own.has(of)) own.set(of, digest)
    accepted.set(server, own)
  },
  onChange(fn) {
    listeners.add(fn)
    return () => void listeners.delete(fn)
  },
}
/** Each call, before it is answered. */
const audit: Audit = {
  write: ({ name, server, upstreamName, outcome }) => console.log([name, server, upstreamName, outcome]),
}

const team = gateway(() => startClients({ mail: { url: String(mail.url) } }), { pin: true, pins })
await using server = await startServer(team, { transport: serveHttp(), audit })

await withClient({ transport: http(String(server.url)) }, async (client) => {
  await client.callTool('mail__read').catch((error: Error) => console.log(error.message))
  const offered = new Promise((resolve) =>
    client.onNotification('notifications/tools/list_changed', () => resolve(true)),
  )
  // somebody has looked at it, and accepts it as it is
  accepted.get('mail')?.delete('tool read')
  for (const fn of listeners) fn()
  await offered
  console.log((await client.callTool('mail__read')).text)
})
