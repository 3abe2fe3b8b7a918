import type { Revision } from '../../protocol/dialects/dialect.js'
import { isObject } from '../../protocol/wire/json.js'
import { allRevisions, handshakeRevisions } from '../../protocol/dialects/versions.js'
import { show } from '../../runtime/base/errors.js'
import type { RootOptions } from '../../runtime/process/root.js'
import { isInspector, type MachineInspector } from '../../runtime/watch/inspector.js'
import type { ServerTransport } from '../../transports/contract/contract.js'
import type { Cluster } from '../cluster/cluster.js'
import { isServer, type ServerDefinition } from '../definitions/define-server.js'
import { ServerError } from '../base/errors.js'
import { namesOf } from '../base/names.js'
import type { IsolatedHandler } from '../context/isolated.js'
import { type IsolationOptions, readIsolation } from '../isolation/options.js'
import { readersOf } from '../base/read-options.js'
import { needsSessions } from '../definitions/session-needs.js'
import { LocalEngine, readEngine, type ServerEngine } from '../engine/local-engine.js'
import { readTasks, type TasksOptions } from './task-options.js'

/** Whether to start, or a function that says so at each start. */
export type StartCondition = boolean | (() => boolean)

/** How a server is run. */
export interface ServerOptions {
  /** How clients reach it: `serveHttp()`, `serveStdio()`. */
  readonly transport: ServerTransport
  /** The prefix of its processes' names. Default: the name of the definition. */
  readonly name?: string
  /**
   * Passed to `session.init` of the definition, as it is: what differs between starts, such as a database.
   */
  readonly initArg?: unknown
  /**
   * The revisions of MCP that it speaks. It refuses others as the specification says, so that clients with
   * several fall back. Default: all; if a component has `session: true`, those with sessions (2024-11-05 to
   * 2025-11-25).
   */
  readonly revisions?: readonly Revision[]
  /**
   * Where what must survive lives: sessions, tasks, event streams, secrets. `inMemory()`, the default, survives
   * what dies in the program; `files({ folder })` the program; with `redis({ url })` this server is one of several
   * nodes, on any machines, that serve the same sessions; `sealed({ keys })` needs no storage, `records({
   * load, save, delete })` is a store of yours. While an engine is away, sessions are refused with 503.
   */
  readonly engine?: ServerEngine
  /**
   * Whether to start at all, or a function that is called at each start. A server on standard input always
   * starts. Default: true, unless the environment variable CADUCEUS_SERVER is `0`, `false` or `off`.
   */
  readonly start?: StartCondition
  /**
   * Hears what the machines of its sessions do, as xstate tells it (`createActor`, `inspect`), a little
   * later; also an object with `next`, such as the inspectors for xstate are. Default: nobody.
   */
  readonly inspect?: MachineInspector
  /**
   * Sessions at once; more are answered 503. One whose client has said nothing since `initialize` makes room,
   * the oldest first; its client has 30 s for that. Default 10,000.
   */
  readonly maxSessions?: number
  /**
   * Sessions of one client at once; more are answered 429. A client is the principal that the listener's
   * `authenticate` finds, or else an address (IPv6: a /64; behind proxies the one that `trustProxy` finds).
   * Default 1,000, without a limit for anonymous clients of this machine.
   */
  readonly maxSessionsPerClient?: number
  /** Streams of `subscriptions/listen` (2026-07-28) at once; more are answered 503. Default 10,000. */
  readonly maxListens?: number
  /** Milliseconds until a session without messages, requests in flight and readers ends. Default 30 min. */
  readonly idleTimeout?: number
  /** Requests of one session that run at once; more wait, in order. Default 64. */
  readonly maxRequests?: number
  /**
   * Requests without a session (2026-07-28) that run at once; more wait, and clients take turns. Default
   * 1,000.
   */
  readonly maxExchanges?: number
  /**
   * Requests of one session, or of one client without sessions, that may wait; 64 MiB of them at most, and
   * 256 MiB of all. More are refused: JSON-RPC error 429 with `data.retryable` in a session, 503 without. On
   * standard input the server reads more slowly instead. Default 10,000.
   */
  readonly maxWaiting?: number
  /** Milliseconds that a request may run; `timeout` of a component overrides it. Default 30 min. */
  readonly requestTimeout?: number
  /** Milliseconds to answer a question (`ctx.elicit`), at most 24 h in 2026-07-28. Default 10 min. */
  readonly askTimeout?: number
  /**
   * Whether a handler that asks a client of 2026-07-28 waits in memory for the answer, and continues there.
   * Otherwise, or without room, or if another program gets the answer, it runs again with the answers. The
   * outcome is the same; switch it off to test a handler. Default true.
   */
  readonly parking?: boolean | ParkingOptions
  /**
   * How many threads and processes run isolated handlers (`isolate` of a component), and what they may use.
   * Without such a component there are none, unless this option is given, for those added at run time.
   */
  readonly isolation?: IsolationOptions
  /**
   * How the tasks of tools with `task` are bounded; the engine keeps them. Without such a tool there are none,
   * unless this option is given, for those added at run time.
   */
  readonly tasks?: TasksOptions
  /** Milliseconds that requests in flight have when the server stops. Default 10,000. */
  readonly drainTimeout?: number
  /** Components on one page of a list. Default 500. */
  readonly pageSize?: number
  /**
   * Whether clients get the messages and stacks of crashes: for development, since both may contain secrets.
   * Default false: they get the number of the report, where one is written.
   */
  readonly exposeErrors?: boolean
}

/** How calls are parked that wait for an answer of their client. */
export interface ParkingOptions {
  /** Milliseconds that a call is parked at most. Default 10 min. */
  readonly time?: number
  /** Parked calls at once. Default 1,000. */
  readonly max?: number
  /** Parked calls of one principal at once; anonymous ones have no limit of their own. Default 16. */
  readonly maxPerPrincipal?: number
}

export type ParkingLimits = Readonly<Required<ParkingOptions>>

export type ServerSettings = ReturnType<typeof readServerOptions>

/** Options of the whole tree, for a server that is started on its own. */
export type TreeWideOptions = Pick<
  RootOptions,
  'clock' | 'registry' | 'unowned' | 'onBlocked' | 'blockedAfter' | 'logger' | 'logLevels'
> & {
  /**
   * Whether SIGTERM and SIGINT stop the server in order: requests in flight have `drainTimeout`, streams end,
   * hooks run, and the program exits with `process.exitCode` or 0, unless it listens for the signal itself. A
   * second signal ends it at once. Default true; false for a program that calls `stop()` itself.
   */
  readonly signals?: boolean
}

const defaultParking: ParkingLimits = Object.freeze({ time: 10 * 60_000, max: 1_000, maxPerPrincipal: 16 })
const noParking: ParkingLimits = Object.freeze({ time: 0, max: 0, maxPerPrincipal: 0 })
/** The fields of ServerOptions. */
export const serverFields: readonly string[] = [
  ...['transport', 'name', 'initArg', 'revisions', 'engine', 'start', 'exposeErrors'],
  ...['maxSessions', 'maxSessionsPerClient', 'maxListens', 'maxRequests', 'maxExchanges', 'maxWaiting'],
  ...['idleTimeout', 'requestTimeout', 'askTimeout', 'drainTimeout'],
  ...['parking', 'pageSize', 'isolation', 'tasks', 'inspect'],
]
const { badOption: bad, readDelay, readFields, readFlag, readLimit, readMs, readText } = readersOf()

const example = 'startServer(definition, { transport: serveStdio() })'

/** Reads the options of a server. Throws BAD_DEFINITION, or BAD_OPTION that names the field. */
export function readServerOptions(definition: ServerDefinition, options: ServerOptions) {
  if (!isServer(definition)) {
    const problem = `expected what defineServer returns, got ${show(definition)}`
    throw new ServerError('BAD_DEFINITION', problem, { data: { field: 'definition' } })
  }
  readFields(options, 'options', serverFields, '', example)
  const { transport, initArg, start, maxSessionsPerClient } = options
  if (!isObject(transport) || typeof transport.bind !== 'function') {
    const isForClients = isObject(transport) && typeof transport.connect === 'function'
    const hint = isForClients ? ', and not what a client connects with' : ''
    throw bad('transport', `what serveHttp() or serveStdio() returns${hint}`, transport)
  }
  const name = readText(options.name, 'name', definition.info.name)
  if (initArg !== undefined && definition.session?.init === undefined)
    throw bad('initArg', 'nothing, as the definition has no session.init to be given it', initArg)
  if (start !== undefined && typeof start !== 'boolean' && typeof start !== 'function')
    throw bad('start', 'true, false or a function', start)
  const { inspect } = options
  if (inspect !== undefined && !isInspector(inspect))
    throw bad('inspect', 'a function, or an object with next', inspect)
  const engine = readEngine(options.engine)
  const local = engine instanceof LocalEngine ? LocalEngine.parts(engine) : undefined
  const shared = engine instanceof LocalEngine ? undefined : engine
  if (shared !== undefined && transport.name === 'stdio')
    throw bad('engine', 'one of this program alone on standard input, which has one client', shared.name)
  return Object.freeze({
    definition,
    transport,
    name,
    names: namesOf(name),
    initArg,
    revisions: readRevisions(definition, options.revisions),
    /** The engine of this program alone; undefined: in memory, or shared. */
    local,
    ids: engine instanceof LocalEngine ? local?.ids : engine?.ids,
    /** Where the nodes of several machines meet: the cluster is made when the server starts. */
    engine: shared,
    /** The nodes that serve the same sessions; undefined for one that serves alone, and until it starts. */
    cluster: undefined as Cluster | undefined,
    start,
    inspect,
    exposeErrors: readFlag(options.exposeErrors, 'exposeErrors', false),
    maxSessions: readLimit(options.maxSessions, 'maxSessions', 10_000),
    maxSessionsPerClient:
      maxSessionsPerClient === undefined
        ? undefined
        : readLimit(maxSessionsPerClient, 'maxSessionsPerClient'),
    maxListens: readLimit(options.maxListens, 'maxListens', 10_000),
    idleTimeout: readMs(options.idleTimeout, 'idleTimeout', 30 * 60_000),
    maxRequests: readLimit(options.maxRequests, 'maxRequests', 64),
    maxExchanges: readLimit(options.maxExchanges, 'maxExchanges', 1_000),
    maxWaiting: readLimit(options.maxWaiting, 'maxWaiting', 10_000),
    requestTimeout: readMs(options.requestTimeout, 'requestTimeout', 30 * 60_000),
    askTimeout: readMs(options.askTimeout, 'askTimeout', 10 * 60_000),
    drainTimeout: readDelay(options.drainTimeout, 'drainTimeout', 10_000),
    pageSize: readLimit(options.pageSize, 'pageSize', 500),
    parking: readParking(options.parking),
    tasks: readTasks(options.tasks, definition.tools),
    isolation: readIsolation(
      options.isolation,
      isolatedIn(definition),
      readLimit(options.maxWaiting, 'maxWaiting', 10_000),
    ),
  })
}

function isolatedIn(definition: ServerDefinition): readonly IsolatedHandler[] {
  const { tools, resources, resourceTemplates, prompts } = definition
  const all: readonly { readonly isolated: IsolatedHandler | undefined }[] = [
    ...tools,
    ...resources,
    ...resourceTemplates,
    ...prompts,
  ]
  return all.flatMap(({ isolated }) => isolated ?? [])
}

/** Newest first, in whatever order they were given. */
function readRevisions(definition: ServerDefinition, given: unknown): readonly Revision[] {
  if (given === undefined) return needsSessions(definition) ? handshakeRevisions : allRevisions
  const expected = `an array with some of ${allRevisions.join(', ')}`
  if (!Array.isArray(given) || given.length === 0) throw bad('revisions', expected, given)
  const unknown = given.find((revision) => !allRevisions.includes(revision))
  if (unknown !== undefined) throw bad('revisions', expected, unknown)
  return Object.freeze(allRevisions.filter((revision) => given.includes(revision)))
}

/** Reads the option `parking`; false is no room at all. Throws BAD_OPTION. */
export function readParking(option: unknown): ParkingLimits {
  if (option === undefined || option === true) return defaultParking
  if (option === false) return noParking
  if (!isObject(option)) throw bad('parking', 'true, false or an object', option)
  const { time, max, maxPerPrincipal } = readFields(
    option,
    'parking',
    Object.keys(defaultParking),
    'parking.',
  )
  return Object.freeze({
    time: readMs(time, 'parking.time', defaultParking.time),
    max: readLimit(max, 'parking.max', defaultParking.max),
    maxPerPrincipal: readLimit(maxPerPrincipal, 'parking.maxPerPrincipal', defaultParking.maxPerPrincipal),
  })
}

const no = new Set(['0', 'false', 'off'])

/**
 * Whether to start now: always on standard input, else by the option, then by CADUCEUS_SERVER; default yes.
 * Throws what the function throws, and BAD_OPTION if it returns no boolean.
 */
export function isWanted({
  start,
  transport,
}: {
  readonly start: StartCondition | undefined
  readonly transport: { readonly name: string }
}): boolean {
  if (transport.name === 'stdio') return true
  if (start === undefined) return !no.has((process.env.CADUCEUS_SERVER ?? '').trim().toLowerCase())
  const wanted: unknown = typeof start === 'function' ? start() : start
  if (typeof wanted === 'boolean') return wanted
  throw bad('start', 'a function that answers true or false', wanted)
}

export function splitServerOptions<Own extends object>(
  options: Own & TreeWideOptions,
): {
  own: Omit<Own, keyof TreeWideOptions>
  treeWide: Omit<TreeWideOptions, 'signals'>
  signals: boolean
} {
  if (!isObject(options)) throw bad('options', `an object, as in ${example}`, options)
  const { clock, registry, unowned, onBlocked, blockedAfter, logger, logLevels, signals, ...own } = options
  const treeWide = {
    onBlocked,
    blockedAfter,
    logger,
    logLevels,
    ...(clock !== undefined && { clock }),
    ...(registry !== undefined && { registry }),
    ...(unowned !== undefined && { unowned }),
  }
  return { own, treeWide, signals: readFlag(signals, 'signals', true) }
}
