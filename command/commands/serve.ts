import { basename, dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gateway, observe, type ServerDefinition, type ServerOptions, startServer } from 'caduceus'
import type { Audit } from 'caduceus/server'
import { isObject } from '../../protocol/wire/json.js'
import { takeStandardOutput } from '../../transports/stdio/standard-output.js'
import { messageOf } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { checkMetrics, checkPort, readCount, overStandardInput } from '../serving/listening.js'
import { checkModule } from '../serving/module-file.js'
import { AuditFile } from '../serving/audit-file.js'
import { LockFile, lockFileOf } from '../serving/lock-file.js'
import { readModuleServing, sharedTransport, transportOfModule } from '../serving/module-options.js'
import { isApiDocument, loadApi } from '../connection/openapi.js'
import { Roster } from '../serving/roster.js'
import { hasTerminal, hearSignals, type ServingSignals } from '../serving/signals.js'
import type { TeamAudit } from '../serving/team-file.js'
import { isLoopback } from '../../transports/http/listen/guard.js'
import { changedParts, listenAs, serverOptionsOf, type TeamListener } from '../serving/team-listening.js'
import { oneLine, tell } from '../terminal/screen.js'
import { exitCodes, UsageError } from '../base/usage-error.js'
import { foldersTo, linksTo, watchFolders } from '../serving/watch.js'

/** Serves a module, or the servers of a host's file, until it is told to stop. */
export async function run(invocation: Invocation, world: World = systemWorld): Promise<number> {
  const [path, extra] = invocation.positionals
  if (path === undefined || extra !== undefined) throw new UsageError('serve: expected one module or file')
  if (isApiDocument(path)) return await serveApi(path, invocation)
  const ofApi = ['base-url', 'include', 'exclude'].find((name) => invocation.values[name] !== undefined)
  if (ofApi !== undefined) throw new UsageError(`--${ofApi} is for a document of OpenAPI`)
  if (/\.jsonc?$/i.test(path)) return await serveFile(resolve(path), invocation, world)
  const processes = textOf(invocation, 'processes')
  if (processes !== undefined) return await serveProcesses(path, processes, invocation)
  if (invocation.values.lazy === true)
    throw new UsageError('--lazy is for the servers of a file: a module is loaded at once')
  // standard output may be the protocol's, as the options of the module say
  const taken = takeStandardOutput()
  const serving = await readModuleServing(path, invocation)
  const { definition, options } = await loadServer(path)
  const transport = transportOfModule(path, options.transport, serving, invocation)
  if (transport.name !== 'stdio') taken.restore()
  const { listen, metrics, observe: observed } = serving.team
  if (options.transport === undefined) await checkPort(invocation, listen)
  await checkMetrics(metrics)
  const limits = { ...options.limits, ...serving.options.limits }
  const { audit, end } = await auditOf(invocation, process.cwd(), undefined, options.audit !== undefined)
  const all = { ...options, ...serving.options, limits, transport, ...(audit && { audit }) }
  const server = await startServer(definition, all)
  return await untilEnd(server, path, invocation, observed).finally(end)
}

/** Bytes of an audit log, and how many former ones are kept. */
const auditUsual = { maxBytes: 10 * 1024 * 1024, maxFiles: 5, sync: false }

/**
 * The audit log that the command line, CADUCEUS_AUDIT or the file asks for, the first that does. Rejects with
 * UsageError where it cannot be written. `isTaken`: the module has one of its own.
 */
async function auditOf(
  invocation: Invocation,
  folder: string,
  { file, ...rest }: TeamAudit = {},
  isTaken = false,
): Promise<{ readonly audit: Audit | undefined; readonly end: () => Promise<void> }> {
  const given = textOf(invocation, 'audit')
  if (given === '') throw new UsageError('--audit: expected a file, got an empty text')
  if (given !== undefined && isTaken)
    throw new UsageError('the module exports an audit in its options: leave --audit out')
  const asked = given ?? (isTaken ? undefined : process.env.CADUCEUS_AUDIT)
  const path = asked === undefined || asked === '' ? file && resolve(folder, file) : resolve(asked)
  if (path === undefined) {
    if (Object.keys(rest).length > 0)
      throw new UsageError('caduceus.audit has no file: give one there, or --audit FILE')
    return { audit: undefined, end: async () => {} }
  }
  const { maxBytes, maxFiles, sync, ...options } = { ...auditUsual, ...rest }
  const log = new AuditFile({ file: path, maxBytes, maxFiles, sync })
  await log.open().catch((error: unknown) => {
    throw new UsageError(`the audit log ${path} cannot be written: ${messageOf(error)}`)
  })
  return { audit: { ...options, write: log.write }, end: () => log.close() }
}

async function serveApi(path: string, invocation: Invocation): Promise<number> {
  for (const name of ['processes', 'lazy'])
    if (invocation.values[name] !== undefined)
      throw new UsageError(`--${name}: not for a document of OpenAPI`)
  const serving = await readModuleServing(path, invocation)
  const definition = await loadApi(path, invocation)
  const transport = transportOfModule(path, undefined, serving, invocation)
  const { listen, metrics, observe: observed } = serving.team
  await checkPort(invocation, listen)
  await checkMetrics(metrics)
  const { audit, end } = await auditOf(invocation, process.cwd())
  const server = await startServer(definition, { ...serving.options, transport, ...(audit && { audit }) })
  return await untilEnd(server, path, invocation, observed).finally(end)
}

async function serveProcesses(path: string, processes: string, invocation: Invocation): Promise<number> {
  if (invocation.values.stdio === true) throw new UsageError('--processes: standard input has one client')
  const count = readCount(processes, '--processes', 'a whole number', 1)
  if (textOf(invocation, 'audit') !== undefined || (process.env.CADUCEUS_AUDIT ?? '') !== '')
    throw new UsageError('--processes: one program writes an audit log: leave --audit and CADUCEUS_AUDIT out')
  const serving = await readModuleServing(path, invocation)
  const transport = sharedTransport(serving)
  await checkPort(invocation, serving.team.listen)
  // until the server hears it: what it asks for is under way
  const ignore = (): void => {}
  if (!hasTerminal()) process.on('SIGHUP', ignore)
  const server = await startServer(pathToFileURL(resolve(path)), {
    ...serving.options,
    transport,
    processes: count,
  })
  process.off('SIGHUP', ignore)
  return await untilEnd(server, path, invocation, serving.team.observe)
}

interface Running {
  readonly name: string
  readonly url: string | undefined
  onExit(fn: () => void): () => void
}

/** Tells where it is served, lets it be looked at, and resolves once it has ended. */
export async function untilEnd(
  server: Running,
  path: string,
  invocation: Invocation,
  observed?: number,
): Promise<number> {
  if (server.url !== undefined) tell(`${oneLine(server.name)} is served at ${server.url}`)
  const port = textOf(invocation, 'observe') ?? observed?.toString()
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

/** What the exports of a module that starts its server by itself are. */
const alone = 'nothing (a module that starts its server by itself is run with node)'

/** The server that a module exports: by default, or the only one by name. Rejects with UsageError. */
async function loadServer(
  path: string,
): Promise<{ definition: ServerDefinition; options: Partial<ServerOptions> }> {
  let loaded: Record<string, unknown>
  const stuck = (): void => {
    tell(`caduceus: ${path} has not finished loading, and nothing is left that could finish it`)
    process.exitCode = exitCodes.usage
  }
  process.once('beforeExit', stuck)
  try {
    loaded = await import(pathToFileURL(resolve(path)).href)
  } catch (error) {
    checkModule(path)
    if ((error as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[mc]?ts$/.test(path))
      throw new UsageError(`${path} cannot be loaded: ${typescriptHint}`)
    throw new UsageError(`${path} cannot be loaded: ${messageOf(error).replace(/ imported from .*/, '')}`)
  } finally {
    process.off('beforeExit', stuck)
  }
  // what a compiler has made CommonJS of
  const compiled = loaded.default
  const names = isObject(compiled) && compiled.__esModule === true ? compiled : loaded
  const servers = Object.entries(names).filter(([, value]) => isDefinition(value))
  const found =
    servers.find(([name]) => name === 'default') ?? (servers.length === 1 ? servers[0] : undefined)
  if (found === undefined)
    throw new UsageError(
      `${path}: expected the default export to be what defineServer returns; it exports ${Object.keys(names).join(', ') || alone}`,
    )
  const { options } = names
  return { definition: found[1] as ServerDefinition, options: isObject(options) ? options : {} }
}

const typescriptHint =
  'it is TypeScript, which Node runs from 22.18 on; before that, install tsx and set NODE_OPTIONS="--import tsx", or compile it'

function isDefinition(value: unknown): boolean {
  return isObject(value) && value.kind === 'server'
}

/** As the options say, and else the file. */
function listenerOf(file: string, roster: Roster, invocation: Invocation): TeamListener {
  if (invocation.values.stdio === true) {
    if (roster.team.metrics !== undefined)
      throw new UsageError('metrics: there is no port over standard input: leave --stdio or --metrics out')
    return { transport: overStandardInput(invocation), renew: () => {} }
  }
  return listenAs(file, roster.team, roster.team.listen.port ?? 3000, () => roster.team.tokens)
}

/** All servers of a file as one; what changes in the file changes here, and costs the others nothing. */
async function serveFile(file: string, invocation: Invocation, world: World): Promise<number> {
  if (invocation.values.processes !== undefined)
    throw new UsageError('--processes: a file of a host is served by one process')
  const roster = new Roster(file, invocation)
  await roster.read()
  if (roster.names.length === 0)
    throw new UsageError(`${file} has no server that could be served: mend what is told of it, or add one`)
  const signals = hearSignals()
  try {
    return await serveRoster(roster, { file, invocation, world, signals })
  } finally {
    await roster.ended()
  }
}

/** Milliseconds that a program which is told to stop waits for its start: then it ends as it is. */
const startPatience = 3_000

interface Serving {
  readonly file: string
  readonly invocation: Invocation
  readonly world: World
  readonly signals: ServingSignals
}

async function serveRoster(roster: Roster, { file, invocation, world, signals }: Serving): Promise<number> {
  const { team } = roster
  const listener = listenerOf(file, roster, invocation)
  const { transport } = listener
  await checkPort(invocation, team.listen)
  await checkMetrics(team.metrics)
  const pins = new LockFile(lockFileOf(file), trustCommandOf(file), world)
  await pins.read()
  const { audit, end } = await auditOf(invocation, dirname(file), team.audit)
  const reread = async (isAsked = false): Promise<void> => {
    try {
      const changes = await roster.read(isAsked)
      for (const part of changedParts(team, roster.team))
        tell(`${file}: caduceus.${part} has changed: it applies at the next start`)
      if (isAsked) listener.renew()
      if (changes !== '' || isAsked) tell(`${file}: ${changes === '' ? 'nothing has changed' : changes}`)
    } catch (error) {
      tell(oneLine(`${messageOf(error)}; all servers stay as they are`))
    }
  }
  const repin = (): Promise<void> =>
    pins.read().catch((error) => tell(oneLine(`${messageOf(error)}; nothing pinned is offered until then`)))
  const follow = (path: string, fn: () => void): (() => void) =>
    watchFolders(
      () => foldersTo(path),
      (name) => linksTo(path).some((place) => name === basename(place)),
      fn,
      world,
    )
  const undo = [follow(file, () => void reread()), follow(pins.path, () => void repin())]
  // the audit log finds out by itself that it was moved away
  signals.onHangUp(() => void reread(true).then(repin))
  try {
    // what was changed since they were read, and before they were watched
    await reread()
    await repin()
    const starting = startServer(gateway(roster, { ...team.gateway, pins }), {
      transport,
      signals: false,
      ...(audit && { audit }),
      ...serverOptionsOf(file, team),
    })
    // it serves before all servers of the file are up
    signals.onStop(() => {
      const late = world.setTimeout(() => process.exit(exitCodes.failed), startPatience)
      const stop = (server: { stop(): Promise<void> }): Promise<void> => {
        world.clearTimeout(late)
        return server.stop()
      }
      void starting.then(stop, () => {})
    })
    const server = await starting
    if (server.url !== undefined) {
      roster.leaveOut(server.url)
      await reread()
    }
    const isFar = transport.name === 'http' && !isLoopback(team.listen.host ?? '127.0.0.1')
    if (isFar && team.tokens === undefined && team.signIn === undefined)
      tell(`whoever reaches this address may use all servers: give caduceus.tokens in ${file}`)
    tell(`${roster.names.length} servers of ${file}: ${roster.names.map(oneLine).join(', ')}`)
    return await untilEnd(server, file, invocation, team.observe)
  } finally {
    for (const one of undo) one()
    await end()
  }
}

/** How a change of a server of that file is accepted. */
function trustCommandOf(file: string): string {
  return file === resolve('mcp.json') ? 'caduceus trust' : `caduceus trust --file ${shownPath(file)}`
}

/** As a shell takes it. */
function shownPath(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : JSON.stringify(path)
}
