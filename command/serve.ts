import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type AnswerOptions,
  type Clients,
  gateway,
  observe,
  serveHttp,
  type ServerDefinition,
  type ServerOptions,
  startClients,
  startServer,
} from 'caduceus'
import { isObject } from '../protocol/wire/json.js'
import { messageOf } from '../runtime/base/errors.js'
import { systemWorld, type World } from '../runtime/time/world.js'
import { type FoundServer, serversIn } from './host-files.js'
import { type Invocation, textOf } from './invocation.js'
import { readCount, readListening, tell } from './listening.js'
import { connectionOf, filled } from './target.js'
import { exitCodes, UsageError } from './usage-error.js'
import { watchFolders } from './watch.js'

/** Serves a module, or the servers of a host's file, until it is told to stop. */
export async function run(invocation: Invocation, world: World = systemWorld): Promise<number> {
  const [path, extra] = invocation.positionals
  if (path === undefined || extra !== undefined) throw new UsageError('serve: expected one module or file')
  if (/\.jsonc?$/i.test(path)) return await serveFile(resolve(path), invocation, world)
  const processes = textOf(invocation, 'processes')
  if (processes !== undefined) return await serveProcesses(path, processes, invocation)
  const { definition, options } = await loadServer(path)
  const isAsked = invocation.values.http !== undefined || invocation.values.stdio === true
  // one that lets in whom it knows must not be replaced unseen
  if (isAsked && options.transport !== undefined)
    throw new UsageError(`${path} exports a transport in its options: leave --http and --stdio out`)
  const transport = options.transport ?? readListening(invocation)
  return await untilEnd(await startServer(definition, { ...options, transport }), path, invocation)
}

async function serveProcesses(path: string, processes: string, invocation: Invocation): Promise<number> {
  if (invocation.values.stdio === true) throw new UsageError('--processes: standard input has one client')
  const port = readCount(textOf(invocation, 'http') ?? '3000', '--http', 'a port', 0)
  const count = readCount(processes, '--processes', 'a whole number', 1)
  const transport = serveHttp({ port })
  const server = await startServer(pathToFileURL(resolve(path)), { transport, processes: count })
  return await untilEnd(server, path, invocation)
}

interface Running {
  readonly name: string
  readonly url: string | undefined
  onExit(fn: () => void): () => void
}

/** Tells where it is served, lets it be looked at, and resolves once it has ended. */
export async function untilEnd(server: Running, path: string, invocation: Invocation): Promise<number> {
  if (server.url !== undefined) tell(`${server.name} is served at ${server.url}`)
  const port = textOf(invocation, 'observe')
  const name = basename(path).replace(/\.\w+$/, '')
  const view = await observe({
    name,
    ...(port !== undefined && { port: readCount(port, '--observe', 'a port', 0) }),
  }).catch((error: unknown) => tell(`it cannot be looked at: ${messageOf(error)}`))
  if (view?.url !== undefined) tell(`its processes are shown at ${view.url}`)
  await new Promise<void>((resolve) => server.onExit(() => resolve()))
  await view?.close()
  return exitCodes.ok
}

/** The server that a module exports: by default, or the only one by name. Rejects with UsageError. */
async function loadServer(
  path: string,
): Promise<{ definition: ServerDefinition; options: Partial<ServerOptions> }> {
  let loaded: Record<string, unknown>
  try {
    loaded = await import(pathToFileURL(resolve(path)).href)
  } catch (error) {
    throw new UsageError(`${path} cannot be loaded: ${messageOf(error)}`)
  }
  // what a compiler has made CommonJS of
  const compiled = loaded.default
  const names = isObject(compiled) && compiled.__esModule === true ? compiled : loaded
  const servers = Object.entries(names).filter(([, value]) => isDefinition(value))
  const found =
    servers.find(([name]) => name === 'default') ?? (servers.length === 1 ? servers[0] : undefined)
  if (found === undefined)
    throw new UsageError(
      `${path}: expected the default export to be what defineServer returns; it exports ${Object.keys(names).join(', ') || 'nothing'}`,
    )
  const { options } = names
  return { definition: found[1] as ServerDefinition, options: isObject(options) ? options : {} }
}

function isDefinition(value: unknown): boolean {
  return isObject(value) && value.kind === 'server'
}

/** All servers of a file as one; what changes in the file changes here, and costs the others nothing. */
async function serveFile(file: string, invocation: Invocation, world: World): Promise<number> {
  if (invocation.values.processes !== undefined)
    throw new UsageError('--processes: a file of a host is served by one process')
  const first = await readEntries(file, invocation)
  const roster = new Roster(first, invocation)
  const team = gateway((seat) => roster.start(seat.answers), { name: 'caduceus', version: '1.0.0' })
  const server = await startServer(team, { transport: readListening(invocation) })
  tell(`${first.size} servers of ${file}: ${[...first.keys()].join(', ')}`)
  const reread = async (): Promise<void> => {
    try {
      const changes = await roster.change(await readEntries(file, invocation))
      if (changes !== '') tell(`${file}: ${changes}`)
    } catch (error) {
      tell(`${file}: ${messageOf(error)}; all servers stay as they are`)
    }
  }
  const undo = watchFolders(
    [dirname(file)],
    (name) => name === basename(file),
    () => void reread(),
    world,
  )
  return await untilEnd(server, file, invocation).finally(undo)
}

type Entries = ReadonlyMap<string, FoundServer['entry']>

async function readEntries(file: string, invocation: Invocation): Promise<Entries> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code})`)
  })
  const entries = new Map<string, FoundServer['entry']>()
  for (const found of serversIn(file, text)) entries.set(found.name, await filled(found, invocation))
  for (const [name, entry] of entries)
    if (typeof entry.command !== 'string' && typeof entry.url !== 'string')
      throw new UsageError(`${file}: ${name}: expected a command or a url`)
  return entries
}

/** The servers that run, and what the file said of them. */
class Roster {
  readonly #invocation: Invocation
  #entries: Entries
  #clients: Promise<Clients> | undefined
  /** One change after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(entries: Entries, invocation: Invocation) {
    this.#entries = entries
    this.#invocation = invocation
  }

  /** For the gateway, which closes what is started here. */
  async start(answers: (name: string) => AnswerOptions): Promise<Clients> {
    const servers = Object.fromEntries([...this.#entries].map(([name, entry]) => [name, this.#entry(entry)]))
    const verbose = this.#invocation.values.verbose === true
    this.#clients = startClients(servers, {
      name: 'servers',
      client: (name) => ({ ...answers(name), era: 'auto', probeTimeout: 2_000 }),
      ...(!verbose && { logger: false as const }),
    })
    const clients = await this.#clients
    clients.onState((name, { phase, reason, attempt }) => {
      // once, and not at each attempt
      if (phase === 'failed' || (phase === 'disconnected' && attempt === 1))
        if (reason !== undefined) tell(`${name}: ${messageOf(reason)}`)
    })
    return clients
  }

  /** Makes the servers what the file says now; resolves with what has changed, in words. */
  change(entries: Entries): Promise<string> {
    const change = this.#last.then(() => this.#change(entries))
    this.#last = change.catch(() => {})
    return change
  }

  async #change(entries: Entries): Promise<string> {
    const clients = await this.#clients
    const before = this.#entries
    if (clients === undefined) return ''
    const said: string[] = []
    const stays = (name: string) => JSON.stringify(before.get(name)) === JSON.stringify(entries.get(name))
    this.#entries = entries
    for (const name of before.keys())
      if (!stays(name)) {
        await clients.remove(name)
        if (!entries.has(name)) said.push(`${name} has gone`)
      }
    for (const [name, entry] of entries)
      if (!stays(name)) {
        await clients.add(name, this.#entry(entry))
        said.push(before.has(name) ? `${name} has changed` : `${name} has come`)
      }
    return said.join(', ')
  }

  #entry(entry: FoundServer['entry']) {
    return { transport: connectionOf(entry, this.#invocation).transport }
  }
}
