import { haveHandshake } from '../protocol/dialects/versions.js'
import { isObject } from '../protocol/wire/json.js'
import { outside } from '../runtime/faults/containment.js'
import type { Logger } from '../runtime/faults/log.js'
import { type FetchListener, fetchListener } from '../transports/http/server/fetch-listener.js'
import type { MountOptions } from '../transports/http/server/mount-options.js'
import { httpFields, httpLimits, httpTimeouts } from '../transports/http/server/options.js'
import { optionError } from './base/errors.js'
import { readersOf } from './base/read-options.js'
import type { ServerDefinition } from './definitions/define-server.js'
import {
  readServerOptions,
  type ServerOptions,
  type ServerSettings,
  type TreeWideOptions,
} from './holdings/options.js'
import type { Server } from './server.js'
import { startTree } from './server-tree.js'

const { badOption, readWord } = readersOf('serveFetch')

/** How a server that only `fetch` reaches is run: the options of its listener, and those of a server. */
export interface FetchServeOptions
  extends Omit<MountOptions, 'limits' | 'timeouts'>,
    Omit<ServerOptions, 'transport' | 'start' | 'limits' | 'timeouts'>,
    Pick<TreeWideOptions, 'clock' | 'logger' | 'logLevels'> {
  /** The one path that is served. Default `/mcp`. */
  readonly path?: string
  /**
   * How long a server lives. `program`: from the first request to the end of the program, or `close()`.
   * `request`: each request has a server of its own, and sessions need an engine that outlives it. Default:
   * `request` in a Worker of Cloudflare, where no request may use timers and streams of another, else
   * `program`. In a Durable Object, whose requests may, say `program`.
   */
  readonly lifetime?: 'program' | 'request'
  /** Those of the listener and of the server. */
  readonly limits?: MountOptions['limits'] & ServerOptions['limits']
  /** Those of the listener and of the server, in milliseconds. */
  readonly timeouts?: MountOptions['timeouts'] & ServerOptions['timeouts']
}

/**
 * A server as a function from a `Request` to a `Response`: what hosts without `node:http` ask of a program.
 */
export interface FetchHandler<Env = unknown> {
  /**
   * Answers one request; the first one starts the server. Tools find `env` and `context` of the host as
   * `ctx.assigns`. Never rejects: where the server does not start it answers 500, and the next request tries
   * again. Needs no `this`.
   */
  readonly fetch: (request: Request, env?: Env, context?: unknown) => Promise<Response>
  /** Stops the server in order; a later request starts another one. */
  readonly close: () => Promise<void>
}

/**
 * Serves a definition where a host calls `fetch` (specification: transports, Streamable HTTP): Cloudflare
 * Workers, Deno, Bun, functions of Vercel or AWS. Both eras are served, as `serveHttp` does, at `path` and
 * the paths of `auth`; all others are 404. Nothing happens before the first request. `options` may be a
 * function of the `env` of that request, where a host has secrets there. Throws BAD_OPTION and
 * BAD_DEFINITION; what such a function gives is told by a 500, and on the console.
 */
export function serveFetch<Env = unknown>(
  definition: ServerDefinition,
  options: FetchServeOptions | ((env: Env) => FetchServeOptions) = {},
): FetchHandler<Env> {
  // wrong options are told where the program is written
  let known = typeof options === 'function' ? undefined : readPlan(definition, options)
  let running: Promise<RunningServer> | undefined

  async function fetch(request: Request, env?: Env, context?: unknown): Promise<Response> {
    try {
      known ??= readPlan(definition, typeof options === 'function' ? options(env as Env) : options)
      const assigns = { env, context }
      if (known.lifetime === 'request') return await answerOnce(known, request, assigns)
      const { listener } = await run(known)
      return await listener.fetch(request, { assigns })
    } catch (error) {
      consoleLogger.error({ err: error }, 'the server does not start')
      return new Response('The server does not start\n', { status: 500 })
    }
  }

  function run(plan: Plan): Promise<RunningServer> {
    if (running !== undefined) return running
    const starting = start(plan)
    const forget = (): void => {
      if (running === starting) running = undefined
    }
    running = starting
    starting.then(({ server }) => server.onExit(forget), forget)
    return starting
  }

  async function close(): Promise<void> {
    const last = await running?.catch(() => undefined)
    await last?.server.stop()
  }

  return Object.freeze({ fetch, close })
}

interface RunningServer {
  readonly server: Server
  readonly listener: FetchListener
}

/** It does not belong to the request that happens to be the first. */
function start({ definition, ofServer, ofListener, treeWide }: Plan): Promise<RunningServer> {
  return outside(async () => {
    const listener = fetchListener(ofListener)
    const settings = readServerOptions(definition, { ...ofServer, transport: listener }, {})
    return { server: await startTree(settings, treeWide), listener }
  })
}

/** A server for one request: where a host lets no request touch the timers and streams of another. */
async function answerOnce(
  plan: Plan,
  request: Request,
  assigns: { readonly env: unknown; readonly context: unknown },
): Promise<Response> {
  let over = (): void => {}
  const end = new Promise<void>((resolve) => {
    over = resolve
  })
  const { server, listener } = await start(plan)
  const stopped = end.then(() => server.stop()).catch(() => {})
  const { context } = assigns as { context?: { waitUntil?(work: Promise<unknown>): void } }
  // else the host would end it with the last byte, or with the client
  context?.waitUntil?.(stopped)
  return listener.fetch(request, { assigns }, over)
}

/** What was read of the options. */
interface Plan {
  readonly definition: ServerDefinition
  readonly ofListener: MountOptions & { readonly path?: string }
  readonly ofServer: Omit<ServerOptions, 'transport'>
  readonly treeWide: Omit<TreeWideOptions, 'signals'>
  readonly lifetime: NonNullable<FetchServeOptions['lifetime']>
}

/** Throws BAD_OPTION and BAD_DEFINITION. */
function readPlan(definition: ServerDefinition, options: FetchServeOptions): Plan {
  // what an async function gives has none of the options in it, and would let in everybody
  const isLate = typeof (options as { readonly then?: unknown } | undefined)?.then === 'function'
  if (!isObject(options as unknown) || isLate)
    throw badOption('options', 'an object, or a function of env that gives one at once', options)
  const { lifetime: given, clock, logger = consoleLogger, logLevels, limits, timeouts, ...rest } = options
  const lifetime = readWord(given ?? usualLifetime(), 'lifetime', ['program', 'request'] as const)
  const [limitsOfHttp, limitsOfServer] = split(limits, Object.keys(httpLimits))
  const [timeoutsOfHttp, timeoutsOfServer] = split(timeouts, Object.keys(httpTimeouts))
  const [ofHttp, others] = split(rest, httpFields)
  const ofListener = { ...ofHttp, limits: limitsOfHttp, timeouts: timeoutsOfHttp }
  const ofServer = { ...others, start: true, limits: limitsOfServer, timeouts: timeoutsOfServer }
  const listener = fetchListener(ofListener)
  const settings = readServerOptions(definition, { ...ofServer, transport: listener }, {})
  refuseMissing(settings)
  if (listener.signsIn) {
    needOneServer(settings, lifetime)
    needAddresses(options)
  }
  if (lifetime === 'request') needEngine(settings)
  const treeWide = { logger, logLevels, ...(clock !== undefined && { clock }) }
  return { definition, ofListener, ofServer, treeWide, lifetime }
}

/** A Worker may not use in one request what another one has begun (timers, streams). */
function usualLifetime(): string {
  const { userAgent } = (globalThis as { navigator?: { userAgent?: string } }).navigator ?? {}
  return userAgent === 'Cloudflare-Workers' ? 'request' : 'program'
}

/** A session that is in memory alone would end with the request that opens it. */
function needEngine({ local, revisions }: ServerSettings): void {
  if (local?.outlives === true || !haveHandshake(revisions)) return
  const expected =
    "sealed({ keys }) or records(), or revisions: ['2026-07-28'], as each request has a server of its own (lifetime)"
  throw badOption('engine', expected, local?.name)
}

/** What `signIn()` keeps of a login is looked for by the next request of it. */
function needOneServer({ local }: ServerSettings, lifetime: Plan['lifetime']): void {
  if (lifetime === 'request')
    throw badOption(
      'auth',
      "jwt() or introspection(), or lifetime: 'program' in a Durable Object",
      'signIn()',
    )
  if (local?.name === 'sealed ids')
    throw badOption('engine', 'one that keeps logins, for signIn()', 'sealed()')
}

/** Without addresses all clients share the limits of one: whoever has used them up shuts the others out. */
function needAddresses({ trustProxy }: FetchServeOptions): void {
  if (trustProxy === undefined)
    throw badOption(
      'trustProxy',
      'beside signIn() how many proxies say addresses in X-Forwarded-For, or false: all share one limit',
      trustProxy,
    )
}

/** What is no object is left for the reader to refuse. */
function split(group: object = {}, names: readonly string[]): [object, object] {
  if (!isObject(group)) return [group, {}]
  const entries = Object.entries(group)
  return [
    Object.fromEntries(entries.filter(([name]) => names.includes(name))),
    Object.fromEntries(entries.filter(([name]) => !names.includes(name))),
  ]
}

/** Parts that would more than double a bundle, and parts that need threads or processes. */
function refuseMissing({ definition, engine, tasks, isolation, inspect, limits }: ServerSettings): void {
  const found = [
    definition.gateway !== undefined && 'a gateway',
    engine !== undefined && 'an engine of several nodes',
    tasks !== undefined && 'tools with task',
    isolation !== undefined && 'isolated handlers',
    inspect !== undefined && 'inspect',
    limits.rate !== undefined && 'limits.rate',
  ].find((one) => one !== false)
  if (found === undefined) return
  const problem = `serveFetch: ${found}: not in here: serve it with mount() and startServer() of caduceus`
  throw optionError('definition', problem)
}

/** One line of JSON for each report, for whoever collects what a host's console says. */
const consoleLogger: Logger = Object.freeze({
  debug: () => {},
  info: (facts: object, message: string) => console.info(lineOf(facts, message)),
  warn: (facts: object, message: string) => console.warn(lineOf(facts, message)),
  error: (facts: object, message: string) => console.error(lineOf(facts, message)),
})

function lineOf(facts: object, message: string): string {
  try {
    return JSON.stringify({ message, ...facts }, (_, value: unknown) =>
      value instanceof Error ? (value.stack ?? String(value)) : value,
    )
  } catch {
    return JSON.stringify({ message })
  }
}
