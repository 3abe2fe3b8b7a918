import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Registry, type Server, startServer, startSupervisor, type Supervisor } from 'caduceus'
import { clientActorName, transportName } from '../../client/base/names.js'
import { http, memory, sse, stdio, websocket } from 'caduceus/transports'
import { namesOf } from '../../server/base/names.js'
import { TcpProxy } from '../../test/support/tcp-proxy.js'
import { soakServer } from './definition.js'
import { childFaults, hostFaults, killFault, proxyFaults, type Target } from './faults.js'
import { type Host, startOtherHost, startOwnHost } from './host.js'
import type { Member } from './members.js'
import { type Plan, planOf, type Way } from './plan.js'
import { joinTree, serverPid } from './join-tree.js'

/** Everything that runs: one supervised tree of clients, and what they talk to. */
export interface Fleet {
  readonly members: readonly Member[]
  readonly targets: readonly Target[]
  /** Ends the clients; their servers stay. */
  closeClients(): Promise<void>
  /** What is still open towards them, once they are closed. */
  countSockets(): Promise<number>
  close(): Promise<void>
}

/** This runs from the mirror of the sources, `.t/`. */
const repository = fileURLToPath(new URL('../../../', import.meta.url))
const program = fileURLToPath(new URL('./server.js', import.meta.url))
const everything = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist',
  'index.js',
)
const rawServer = join(repository, 'test', 'support', 'raw-server.mjs')
const loopback = pathToFileURL(join(repository, 'test', 'support', 'loopback.mjs')).href

/** Starts servers and ways to them, and a client of one of them for each place of the plan; resolves while the clients connect. */
export async function startFleet(clients: number, logs: string): Promise<Fleet> {
  const plan = planOf(clients)
  const undo: (() => Promise<unknown>)[] = []
  try {
    return await build(plan, logs, undo)
  } catch (error) {
    await endAll(undo)
    throw error
  }
}

async function build(plan: Plan, logs: string, undo: (() => Promise<unknown>)[]): Promise<Fleet> {
  const hosts: Host[] = []
  for (let i = 0; i < plan.hosts; i++) {
    const host = await startOwnHost(
      program,
      join(logs, `host-${i}`),
      plan.durableHosts.has(i) ? join(logs, 'sessions', `host-${i}`) : undefined,
    )
    undo.push(() => host.kill())
    hosts.push(host)
  }
  const other = await startOtherHost(['--import', loopback, everything, 'streamableHttp'], '/mcp')
  undo.push(() => other.kill())
  const proxies: TcpProxy[][] = []
  for (const { urls } of hosts) {
    const ways = await Promise.all(urls.map((url) => TcpProxy.start(Number(new URL(url).port))))
    undo.push(...ways.map((proxy) => () => proxy.close()))
    proxies.push(ways)
  }
  const near = memory()
  const inside: { server: Server | undefined } = { server: undefined }
  const startInside = async (): Promise<void> => {
    const changed = async (uri: string): Promise<void> => inside.server?.resourceUpdated(uri)
    const options = {
      transport: near.serve,
      name: 'memory',
      logger: false,
      signals: false,
      timeouts: { drain: 500 },
    } as const
    inside.server = await startServer(soakServer(join(logs, 'memory'), changed), options)
  }
  await startInside()
  undo.push(async () => inside.server?.stop())

  const registry = new Registry()
  const tree: Supervisor = await startSupervisor({
    name: 'soak',
    strategy: 'one_for_one',
    registry,
    logger: false,
  })
  undo.push(() => tree[Symbol.asyncDispose]())
  const members: Member[] = []
  for (const place of plan.places) members.push(await joinTree(tree, place, transportOf(place.way)))

  return {
    members,
    targets: targetsOf(),
    async closeClients() {
      await Promise.all(members.map(({ client }) => client.close()))
      await tree.stop()
    },
    async countSockets() {
      const counts = await Promise.all(hosts.map((host) => host.countSockets()))
      const passing = proxies.flat().reduce((sum, proxy) => sum + proxy.open, 0)
      return counts.reduce((sum: number, count) => sum + (count ?? 0), passing)
    },
    close: () => endAll(undo),
  }

  function transportOf(way: Way): ReturnType<typeof http> {
    if (way.type === 'memory') return near.connect
    if (way.type === 'stdio') {
      const own = [program, join(logs, `stdio-${way.number}`), 'memory', 'stdio']
      const args = { own, official: own, raw: [rawServer], everything: [everything, 'stdio'] }[way.style]
      return stdio({ command: process.execPath, args, stderr: 'ring', stopTimeout: 1_000 })
    }
    if (way.type === 'other') return http(other.urls[0] ?? '')
    const index = { http: 0, sse: 1, websocket: 2 }[way.type]
    const url = new URL(hosts[way.host]?.urls[index] ?? '')
    if (way.proxied) url.port = String(proxies[way.host]?.[index]?.port)
    return { http, sse, websocket }[way.type](url)
  }

  function targetsOf(): Target[] {
    const named = (wanted: (way: Way) => boolean): string[] =>
      plan.places.filter(({ way }) => wanted(way)).map(({ name }) => name)
    const targets: Target[] = []
    for (const [i, host] of hosts.entries()) {
      if (i === plan.calmHost) continue
      const clients = named((way) => 'host' in way && way.host === i)
      targets.push({ name: `host ${i}`, clients, weight: 12, faults: hostFaults(host, true) })
      for (const [index, type] of (['http', 'sse', 'websocket'] as const).entries()) {
        const proxy = proxies[i]?.[index]
        const passing = named((way) => way.type === type && way.host === i && way.proxied)
        if (proxy !== undefined && passing.length > 0)
          targets.push({
            name: `proxy ${i} ${type}`,
            clients: passing,
            weight: 6,
            faults: proxyFaults(proxy),
          })
      }
    }
    targets.push({
      name: 'everything',
      clients: named(({ type }) => type === 'other'),
      weight: 6,
      faults: hostFaults(other, false),
    })
    targets.push({
      name: 'memory',
      clients: named(({ type }) => type === 'memory'),
      weight: 6,
      faults: insideFaults(),
    })
    for (const { name, way } of plan.places) {
      const member = members.find((one) => one.name === name)
      if (member === undefined || way.calm) continue
      const kill = (what: string) => () => registry.whereis(what)?.kill()
      const parts = [
        killFault('client actor', kill(clientActorName(name))),
        killFault('transport actor', kill(transportName(name))),
      ]
      const child = way.type === 'stdio' ? childFaults(() => serverPid(member.client)) : []
      if (way.type === 'stdio' || way.fragile)
        targets.push({ name, clients: [name], weight: 1, faults: [...child, ...parts] })
    }
    return targets
  }

  function insideFaults() {
    const transport = namesOf('memory').transport
    return [
      killFault('memory group', () => inside.server?.registry.whereis(transport)?.kill()),
      {
        kind: 'memory stop',
        verb: 'stop' as const,
        async run({ cut }: { cut(): void }) {
          cut()
          await inside.server?.stop()
          cut()
          await startInside()
          cut()
        },
      },
    ]
  }
}

async function endAll(undo: (() => Promise<unknown>)[]): Promise<void> {
  const failed = (await Promise.allSettled(undo.reverse().map((end) => end()))).find(
    (one) => one.status === 'rejected',
  )
  if (failed !== undefined) throw failed.reason
}
