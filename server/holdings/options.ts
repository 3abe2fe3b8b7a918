import type { Revision } from '../../protocol/dialects/dialect.js'
import { isObject } from '../../protocol/wire/json.js'
import { allRevisions, handshakeRevisions } from '../../protocol/dialects/versions.js'
import { show } from '../../runtime/base/errors.js'
import { orElse, type Read } from '../../runtime/base/read-options.js'
import type { RootOptions } from '../../runtime/process/root.js'
import { inspectorReader, type MachineInspector } from '../../runtime/watch/inspector.js'
import type { ServerTransport } from '../../transports/contract/contract.js'
import type { Cluster } from '../cluster/cluster.js'
import { isServer, type ServerDefinition } from '../definitions/define-server.js'
import { ServerError } from '../base/errors.js'
import { namesOf } from '../base/names.js'
import { type Audit, readAudit } from '../base/audit.js'
import type { IsolatedHandler } from '../context/isolated.js'
import { type IsolationOptions, poolsFor, readIsolation } from '../isolation/options.js'
import { readersOf } from '../base/read-options.js'
import { needsSessions } from '../definitions/session-needs.js'
import { LocalEngine, readEngine, type ServerEngine } from '../engine/local-engine.js'
import type { HoldingsParts } from './parts.js'
import { readTasks, tasksFor, type TasksOptions } from './task-options.js'

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
  /** How much there may be at once, before clients are told to wait. */
  readonly limits?: ServerLimitOptions
  /** How long things may take. */
  readonly timeouts?: ServerTimeoutOptions
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
  /**
   * Whether clients get the messages and stacks of crashes: for development, since both may contain secrets.
   * Default false: they get the number of the report, where one is written.
   */
  readonly exposeErrors?: boolean
  /**
   * Hears of each call of a tool, read of a resource and get of a prompt before that is answered: who, what,
   * and how it came out; also of those that are refused. Default: nobody.
   */
  readonly audit?: Audit
}

/** How much a server takes at once. */
export interface ServerLimitOptions {
  /**
   * Sessions; more are answered 503. One whose client has said nothing since `initialize` makes room, the
   * oldest first; its client has 30 s for that. Default 10,000.
   */
  readonly sessions?: number
  /**
   * Sessions of one client; more are answered 429. A client is the principal that the listener's
   * `authenticate` finds, or else an address (IPv6: a /64; behind proxies the one that `trustProxy` finds).
   * Default 1,000, without a limit for anonymous clients of this machine.
   */
  readonly sessionsPerClient?: number
  /** Streams of `subscriptions/listen` (2026-07-28); more are answered 503. Default 10,000. */
  readonly subscriptions?: number
  /** Requests of one session that run; more wait, in order. Default 64. */
  readonly requests?: number
  /** Requests without a session (2026-07-28) that run; more wait, and clients take turns. Default 1,000. */
  readonly statelessRequests?: number
  /**
   * Requests of one session, or of one client without sessions, that may wait; 64 MiB of them at most, and
   * 256 MiB of all. More are refused: JSON-RPC error 429 with `data.retryable` in a session, 503 without. On
   * standard input the server reads more slowly instead. Default 10,000. See `timeouts.waiting`.
   */
  readonly waiting?: number
  /**
   * Handlers that have asked a client of 2026-07-28 and wait in memory for the answer, 16 of one principal and
   * for 10 min at most. Any other runs again with the answers, with the same outcome. Default 1,000; 0, to
   * test a handler: all run again.
   */
  readonly parked?: number
  /** Components on one page of a list. Default 500. */
  readonly pageSize?: number
  /**
   * How many tools each caller may call in a while, over all nodes with one engine: a principal, else an
   * address (IPv6: a /64; behind proxies the one that `trustProxy` finds). More are answered with JSON-RPC error
   * 429, with `data.retryAfter` in ms. Who has neither (stdio, memory) has no such limit. Default: none.
   */
  readonly rate?: RateOptions
}

/** A rate of calls. */
export interface RateOptions {
  /** So many in each `per` of the clock, such as from 12:00:00 to 12:01:00 (UTC). */
  readonly calls: number
  readonly per: 'second' | 'minute' | 'hour' | 'day'
}

/** How long the things of a server may take, in milliseconds. */
export interface ServerTimeoutOptions {
  /** Until a session without messages, requests in flight and readers ends. Default 30 min. */
  readonly idle?: number
  /**
   * Until such a session hibernates: of it only its record is there, until its next message (OTP:
   * hibernate_after). No client notices. Not with `session` hooks, nor with values of `ctx.assign`. Default
   * 30,000; Infinity: never.
   */
  readonly hibernateAfter?: number
  /** That a request may run; `timeout` of a component overrides it. Default 30 min. */
  readonly request?: number
  /**
   * That a request may wait because handlers take all the time of the event loop. One that would wait longer, as
   * things went lately, is refused at once, as beyond `limits.waiting`. Default 10,000, and Infinity, never, on
   * standard input, where all is one client's; less where people wait, such as 500.
   */
  readonly waiting?: number
  /** To answer a question (`ctx.elicit`), at most 24 h in 2026-07-28. Default 10 min. */
  readonly question?: number
  /** That requests in flight have when the server stops. Default 10,000. */
  readonly drain?: number
}

export type ServerSettings = ReturnType<typeof readServerOptions>

/** Options of the whole tree, for a server that is started on its own. */
export type TreeWideOptions = Pick<
  RootOptions,
  'clock' | 'registry' | 'unowned' | 'onBlocked' | 'blockedAfter' | 'logger' | 'logLevels'
> & {
  /**
   * Whether SIGTERM and SIGINT stop the server in order: requests in flight have `timeouts.drain`, streams
   * end, hooks run, and the program exits with `process.exitCode` or 0, unless it listens for the signal itself. A
   * second signal ends it at once. Default true; false for a program that calls `stop()` itself.
   */
  readonly signals?: boolean
}

const {
  badOption: bad,
  readAmount,
  readDelay,
  readFlag,
  readGroup,
  readCount,
  readLimit,
  readMs,
  readOptions,
  readText,
  readWord,
} = readersOf()

const rate = {
  calls: readCount as Read<number>,
  per: (value: unknown, field: string) => readWord(value, field, ['second', 'minute', 'hour', 'day']),
}
const readRate: Read<RateOptions> = (value, field) => readOptions(value, rate, field)

/** Reads the option `limits`. Throws BAD_OPTION. */
export const readLimits = readGroup({
  sessions: orElse(readLimit, 10_000),
  sessionsPerClient: orElse(readLimit, undefined),
  subscriptions: orElse(readLimit, 10_000),
  requests: orElse(readLimit, 64),
  statelessRequests: orElse(readLimit, 1_000),
  waiting: orElse(readLimit, 10_000),
  parked: orElse(readAmount, 1_000),
  pageSize: orElse(readLimit, 500),
  rate: orElse(readRate, undefined),
})

/** Reads the option `timeouts`. Throws BAD_OPTION. */
export const readTimeouts = readGroup({
  idle: orElse(readMs, 30 * 60_000),
  hibernateAfter: orElse(readMs, 30_000),
  request: orElse(readMs, 30 * 60_000),
  waiting: orElse(readMs, undefined),
  question: orElse(readMs, 10 * 60_000),
  drain: orElse(readDelay, 10_000),
})

const readers = {
  transport: readTransport,
  name: orElse(readText, undefined),
  initArg: (value: unknown) => value,
  revisions: orElse(readRevisions, undefined),
  engine: readEngine,
  start: orElse(readStart, undefined),
  inspect: orElse(inspectorReader(bad), undefined),
  exposeErrors: orElse(readFlag, false),
  limits: readLimits,
  timeouts: readTimeouts,
  isolation: orElse(readIsolation, undefined),
  tasks: orElse(readTasks, undefined),
  audit: orElse(readAudit, undefined),
}

export const serverFields: readonly string[] = Object.keys(readers)

/** Options of listeners that are given to servers. */
export const listenerFields = Object.freeze({
  auth: 'it belongs to serveHttp({ auth })',
  authenticate: 'it belongs to serveHttp({ authenticate })',
  port: 'it belongs to serveHttp({ port })',
  host: 'it belongs to serveHttp({ host })',
  path: 'it belongs to serveHttp({ path })',
})

const example = 'startServer(definition, { transport: serveStdio() })'

/** Reads the options of a server. Throws BAD_DEFINITION, or BAD_OPTION that names the field. */
export function readServerOptions(
  definition: ServerDefinition,
  options: ServerOptions,
  parts: HoldingsParts,
) {
  if (!isServer(definition)) {
    const problem = `expected what defineServer returns, got ${show(definition)}`
    throw new ServerError('BAD_DEFINITION', problem, { data: { field: 'definition' } })
  }
  const read = readOptions(options, readers, undefined, example, listenerFields)
  const { transport, initArg, engine } = read
  if (initArg !== undefined && definition.session?.init === undefined)
    throw bad('initArg', 'nothing, as the definition has no session.init to be given it', initArg)
  const local = engine instanceof LocalEngine ? LocalEngine.parts(engine) : undefined
  const shared = engine instanceof LocalEngine ? undefined : engine
  if (shared !== undefined && transport.name === 'stdio')
    throw bad('engine', 'one of this program alone on standard input, which has one client', shared.name)
  const { name = definition.info.name, revisions = usualRevisions(definition) } = read
  const { waiting = transport.name === 'stdio' ? Number.POSITIVE_INFINITY : 10_000 } = read.timeouts
  return Object.freeze({
    ...read,
    timeouts: { ...read.timeouts, waiting },
    definition,
    parts,
    name,
    names: namesOf(name),
    revisions,
    /** The engine of this program alone; undefined: in memory, or shared. */
    local,
    ids: engine instanceof LocalEngine ? local?.ids : engine?.ids,
    /** Where the nodes of several machines meet: the cluster is made when the server starts. */
    engine: shared,
    /** The nodes that serve the same sessions; undefined for one that serves alone, and until it starts. */
    cluster: undefined as Cluster | undefined,
    tasks: read.tasks ?? tasksFor(definition.tools),
    isolation: poolsFor(read.isolation, isolatedIn(definition), read.limits.waiting),
  })
}

/**
 * Options of a program, with those that its module exports in their place. What is read together is put together,
 * field by field.
 */
export function withExported<Options extends Partial<ServerOptions>>(
  options: Options,
  exported: Partial<ServerOptions>,
): Options {
  const limits = together(options.limits, exported.limits)
  const timeouts = together(options.timeouts, exported.timeouts)
  return { ...options, ...exported, limits, timeouts }
}

/** What is no object is left for the reader to refuse. */
function together<Group>(own: Group, exported: Group): Group {
  return isObject(own) && isObject(exported) ? { ...own, ...exported } : (exported ?? own)
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

function usualRevisions(definition: ServerDefinition): readonly Revision[] {
  return needsSessions(definition) ? handshakeRevisions : allRevisions
}

export function readTransport(value: unknown, field: string): ServerTransport {
  if (isObject(value) && typeof value.bind === 'function') return value as unknown as ServerTransport
  const isForClients = isObject(value) && typeof value.connect === 'function'
  const hint = isForClients ? ', and not what a client connects with' : ''
  throw bad(field, `what serveHttp() or serveStdio() returns${hint}`, value)
}

/** Newest first, in whatever order they were given. */
function readRevisions(value: unknown, field: string): readonly Revision[] {
  const expected = `an array with some of ${allRevisions.join(', ')}`
  if (!Array.isArray(value) || value.length === 0) throw bad(field, expected, value)
  const unknown = value.find((revision) => !allRevisions.includes(revision))
  if (unknown !== undefined) throw bad(field, expected, unknown)
  return Object.freeze(allRevisions.filter((revision) => value.includes(revision)))
}

function readStart(value: unknown, field: string): StartCondition {
  if (typeof value === 'boolean' || typeof value === 'function') return value as StartCondition
  throw bad(field, 'true, false or a function', value)
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
