import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type Client,
  clientSpec,
  http,
  Registry,
  type Server,
  serverSpec,
  serveHttp,
  startSupervisor,
  stdio,
  type Supervisor,
} from '../../index.js'
import { counters } from './counters.js'

/** Everything that is on stage: one supervised tree, and handles into it. */
export interface Stage {
  readonly tree: Supervisor
  readonly registry: Registry
  readonly server: Server
  /** Clients of two servers that others wrote. */
  readonly everything: Client
  readonly files: Client
  /** Three sessions of our own server. */
  readonly sessions: readonly Client[]
  /** A folder that the file server may read. */
  readonly folder: string
  close(): Promise<void>
}

/** Puts the tree up: three sessions of our server, and two servers from npm as child processes. */
export async function setStage(): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-'))
  await writeFile(join(folder, 'hello.txt'), 'Hello from a file.\n')
  const registry = new Registry()
  const tree = await startSupervisor({
    name: 'demonstration',
    strategy: 'one_for_one',
    registry,
    logger: false,
  })
  const { extra: server } = await tree.startChild(
    serverSpec(counters, { transport: serveHttp({ port: 0 }) }, { restart: 'transient' }),
  )
  const { url } = server as Server
  if (url === undefined) throw new Error('a server over HTTP has a URL')
  const start = async (name: string, transport: ReturnType<typeof http>): Promise<Client> => {
    const { extra } = await tree.startChild(clientSpec({ name, transport, backoff: { base: 100 } }))
    return extra as Client
  }
  const everything = await start(
    'everything',
    stdio({ command: process.execPath, args: [programOf('everything')] }),
  )
  const files = await start(
    'files',
    stdio({ command: process.execPath, args: [programOf('filesystem'), folder] }),
  )
  const sessions: Client[] = []
  for (const name of ['first', 'second', 'third']) sessions.push(await start(name, http(url)))
  await Promise.all([everything, files, ...sessions].map((client) => client.ready({ timeout: 15_000 })))
  return {
    tree,
    registry,
    server: server as Server,
    everything,
    files,
    sessions,
    folder,
    async close() {
      await tree.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The program of a third-party server, as its package installed it. */
function programOf(server: 'everything' | 'filesystem'): string {
  const name = `@modelcontextprotocol/server-${server}`
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'dist', 'index.js')
}
