import { type Dirent, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ServerError, type ServerTransport, startServer } from 'caduceus'
import { messageOf } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import type { Invocation } from '../base/invocation.js'
import { checkPort } from '../serving/listening.js'
import { checkModule } from '../serving/module-file.js'
import {
  type ModuleServing,
  readModuleServing,
  sharedTransport,
  transportOfModule,
} from '../serving/module-options.js'
import { ownTransportOf } from '../serving/own-transport.js'
import { tell } from '../terminal/screen.js'
import { untilEnd } from './serve.js'
import { UsageError } from '../base/usage-error.js'
import { watchFolders } from '../serving/watch.js'

/** Milliseconds after which it is told that a module is still being loaded. */
const longLoad = 3_000

/**
 * Serves a module, and loads it anew when a file of its folder changes: sessions go on, and clients are told
 * that lists may have changed. Code that cannot be loaded is told, and the old one serves on.
 */
export async function run(invocation: Invocation, world: World = systemWorld): Promise<number> {
  const [path, extra] = invocation.positionals
  if (path === undefined || extra !== undefined) throw new UsageError('dev: expected one module')
  const module = resolve(path)
  checkModule(path)
  const serving = await readModuleServing(path, invocation)
  const transport = await transportOf(path, serving, invocation, world)
  const server = await startServer(pathToFileURL(module), {
    ...serving.options,
    transport,
    processes: 1,
    exposeErrors: true,
    timeouts: { drain: 1_000 },
  })
  const reload = async (): Promise<void> => {
    const timer = world.setTimeout(
      () => tell(`${path} has not finished loading: until it does, what was loaded before is served`),
      longLoad,
    )
    try {
      checkModule(path)
      await server.reload()
      for (const list of ['tools', 'resources', 'prompts'] as const)
        await server.listChanged(list).catch(unlessUndeclared)
      tell(`${path} is loaded anew`)
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      tell(`${path} stays as it was: ${messageOf(cause)}`)
    } finally {
      world.clearTimeout(timer)
    }
  }
  const isCode = (name: string): boolean => /\.(?:[cm]?[jt]sx?|json)$/.test(name)
  const undo = watchFolders(
    () => foldersBelow(dirname(module)),
    isCode,
    () => void reload(),
    world,
  )
  return await untilEnd(server, path, invocation, serving.team.observe).finally(undo)
}

/** Where a module is served: at the port of its own transport, unless the command line says the same one. */
async function transportOf(
  path: string,
  serving: ModuleServing,
  invocation: Invocation,
  world: World,
): Promise<ServerTransport> {
  const { team, overrides } = serving
  const own = overrides.has('listen.port')
    ? undefined
    : await ownTransportOf(pathToFileURL(resolve(path)), world)
  if (own === undefined) {
    const transport = sharedTransport(serving)
    await checkPort(invocation, team.listen)
    return transport
  }
  const transport = transportOfModule(path, own.transport, serving, invocation)
  await checkPort(invocation, own.place)
  return transport
}

/** A module has the lists that it has. */
function unlessUndeclared(error: unknown): void {
  if (!(error instanceof ServerError && error.code === 'BAD_OPTION')) throw error
}

/** The folder and those below it, without packages and hidden ones. */
function foldersBelow(folder: string): string[] {
  const below = entriesIn(folder).filter(
    (entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'),
  )
  return [folder, ...below.flatMap((entry) => foldersBelow(join(folder, entry.name)))]
}

/** None where the folder has gone meanwhile. */
function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
