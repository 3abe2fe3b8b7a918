import type { Actor } from '../runtime/process/actor.js'
import { ignore } from '../runtime/process/behaviour.js'
import { type ChildOverrides, type ChildSpec, childSpec } from '../runtime/supervision/child-spec.js'
import { type ActorContext, lastingWorld } from '../runtime/process/context.js'
import { dynamicSupervisorSpec } from '../runtime/supervision/dynamic.js'
import { RuntimeError, show } from '../runtime/base/errors.js'
import { lastTurns } from '../runtime/base/promise.js'
import { readWorld, type World } from '../runtime/time/world.js'
import type { Lazy } from '../runtime/faults/load.js'
import { ActorRef, type ProcessRef, processOf, type RefOf } from '../runtime/process/ref.js'
import { Registry } from '../runtime/process/registry.js'
import { startSupervisor, supervisorAt, supervisorSpec } from '../runtime/supervision/supervise.js'
import type { SupervisorOptions } from '../runtime/supervision/options.js'
import { taskSupervisorSpec } from '../runtime/tasks/supervisor.js'
import { TransportError } from '../transports/base/errors.js'
import type { ServerPort } from '../transports/contract/contract.js'
import type { Services } from '../transports/inbound/services.js'
import { serverPort } from '../transports/inbound/port.js'
import { optionError, ServerError } from './base/errors.js'
import { baseActor, changesOf } from './subscriptions/base-actor.js'
import type { gatewayActor } from './gateway/actor.js'
import { type Holdings, holdingsActor, type ServerPlace } from './holdings/holdings-actor.js'
import type { HoldingsParts } from './holdings/parts.js'
import { hooksActor } from './sessions/hooks-actor.js'
import { isWanted, type ServerSettings, type TreeWideOptions } from './holdings/options.js'
import { Server } from './server.js'
import { Exchanges } from './exchanges/exchanges.js'
import { Sessions } from './sessions/sessions.js'
import { noteSessionsInMemory } from './notices.js'

/**
 * Modules that a server loads when it is told to use them. Absent: the program that starts it has them not.
 */
export interface OptionalParts extends HoldingsParts {
  readonly clustered?: Lazy<typeof import('./clustered.js')>
  readonly taskTree?: Lazy<typeof import('./tasks/supervisor.js')>
  readonly pool?: Lazy<typeof import('./isolation/pool-actor.js')>
  readonly gateway?: Lazy<typeof import('./gateway/actor.js')>
}

/** Starts a server, as `startServer` does, of settings that were read. */
export async function startTree(
  read: ServerSettings,
  treeWide: Omit<TreeWideOptions, 'signals'>,
): Promise<Server> {
  const { registry = new Registry() } = treeWide
  if (!isWanted(read))
    throw new RuntimeError('IGNORED', `${read.name} is not to be started (option start, CADUCEUS_SERVER)`)
  const world = readWorld(treeWide.clock)
  const run = await newRun(read, world)
  const { settings, place } = run
  try {
    const supervisor = await startSupervisor({ ...treeWide, registry, ...serverSupervisor(run) })
    const server = handleOf(settings, place, registry, supervisor.ref)
    const { name, transport, revisions, local, cluster } = settings
    if (cluster === undefined && local?.outlives !== true)
      noteSessionsInMemory(supervisor.ref, { name, transport: transport.name, revisions })
    await firstLists(settings, registry)
    return server
  } catch (error) {
    const cause = await causeOfFailedStart(error, settings, registry)
    // the tree has let go of the program: what nobody awaits is not taken for a stray error of it
    await lastTurns(world)
    throw cause
  }
}

export function specOf(read: ServerSettings, overrides: ChildOverrides, node?: string): ChildSpec {
  const { name } = read
  const spec = supervisorSpec(
    { name: `server ${name}`, strategy: 'rest_for_one', children: [] },
    { id: name, ...overrides },
  )
  // one in each tree: there the name is its own
  const runs = new WeakMap<Registry, ServerRun>()
  return {
    ...spec,
    async start(ctx) {
      if (!isWanted(read)) return ignore
      const run = runs.get(ctx.registry) ?? (await newRun(read, lastingWorld(ctx.world), node))
      runs.set(ctx.registry, run)
      const { settings, place } = run
      const started = supervisorSpec(serverSupervisor(run), overrides).start(ctx)
      const ref = await Promise.resolve(started).catch(async (error: unknown) => {
        throw (await alreadyStarted(error, settings, ctx.registry)) ?? error
      })
      if (!(ref instanceof ActorRef)) return ref
      await firstLists(settings, ctx.registry)
      return { ref, extra: handleOf(settings, place, ctx.registry, ref) }
    },
  }
}

/** The state of a server that outlives its starts. */
interface ServerRun {
  readonly settings: ServerSettings
  readonly place: ServerPlace
  /** The children that connect the nodes of a cluster; empty for a server alone. */
  readonly cluster: readonly ChildSpec[]
}

async function newRun(settings: ServerSettings, world: World, node?: string): Promise<ServerRun> {
  const place = { binding: undefined, supervisor: undefined }
  const { engine } = settings
  if (engine === undefined) return { settings, place, cluster: [] }
  const { joinCluster } = await partOf(settings, 'clustered')
  const { cluster, spec } = joinCluster(engine, settings, { world, ...(node !== undefined && { node }) })
  return { settings: Object.freeze({ ...settings, cluster }), place, cluster: [spec] }
}

/**
 * The cluster comes first: without it nothing else starts. Then the holdings: if they die, the group is
 * restarted with them; if the group dies, they stay.
 */
function serverSupervisor({ settings, place, cluster }: ServerRun): SupervisorOptions {
  const { names } = settings
  const holdingsFor = ({ self: supervisor, registry }: ActorContext): ChildSpec => {
    const changes = changesOf(registry, names.base)
    return childSpec(holdingsActor, { settings, place, supervisor, changes }, { name: names.holdings })
  }
  return {
    name: `server ${settings.name}`,
    strategy: 'rest_for_one',
    children: [
      ...cluster,
      { id: 'holdings', start: (ctx) => holdingsFor(ctx).start(ctx) },
      ...taskSpecs(settings),
      ...isolationSpecs(settings),
      ...hooksSpecs(settings),
      ...gatewaySpecs(settings),
      groupSpec(settings),
    ],
  }
}

/** Outside of the group: a task outlives requests, sessions and connections. */
function taskSpecs(settings: ServerSettings): ChildSpec[] {
  if (settings.tasks === undefined) return []
  return [
    {
      id: 'mcp-tasks',
      type: 'supervisor',
      async start(ctx) {
        await partOf(settings, 'tasks')
        const { mcpTasksSpec } = await partOf(settings, 'taskTree')
        const { self: server, registry } = ctx
        return mcpTasksSpec(await holdingsAt(settings, registry), () => isStopping(server)).start(ctx)
      },
    },
  ]
}

/** Before the group: calls come and go with it, and what is warm stays. */
function isolationSpecs(settings: ServerSettings): ChildSpec[] {
  const { isolation, names } = settings
  if (isolation === undefined) return []
  return [
    {
      id: 'isolation',
      async start(ctx) {
        const { poolActor } = await partOf(settings, 'pool')
        return childSpec(poolActor, isolation, { name: names.isolation }).start(ctx)
      },
    },
  ]
}

function hooksSpecs({ definition, names, initArg }: ServerSettings): ChildSpec[] {
  const { session: hooks } = definition
  return hooks === undefined ? [] : [childSpec(hooksActor, { hooks, initArg }, { name: names.hooks })]
}

/** Before the group: it stays when that is restarted. */
function gatewaySpecs(settings: ServerSettings): ChildSpec[] {
  const { names } = settings
  const { gateway: plan } = settings.definition
  if (plan === undefined) return []
  return [
    {
      id: 'gateway',
      type: 'supervisor',
      async start(ctx) {
        const { gatewayActor } = await partOf(settings, 'gateway')
        const holdings = await holdingsAt(settings, ctx.registry)
        const servers = childSpec(gatewayActor, { holdings, plan }, { name: names.gateway })
        return supervisorSpec({ name: 'gateway', strategy: 'one_for_one', children: [servers] }).start(ctx)
      },
    },
  ]
}

/**
 * A start is over when the servers behind a gateway have told what they have, or their time is up; clients
 * are answered meanwhile. Never rejects.
 */
async function firstLists({ definition, names }: ServerSettings, registry: Registry): Promise<void> {
  const { gateway: plan } = definition
  if (plan === undefined) return
  await registry
    .named<typeof gatewayActor>(names.gateway)
    .call('settled', undefined, { timeout: plan.startTimeout + 5_000 })
    .catch(() => {})
}

function groupSpec(settings: ServerSettings): ChildSpec {
  const { names } = settings
  return {
    id: 'group',
    type: 'supervisor',
    async start(ctx) {
      const { self: server, registry } = ctx
      const holdings = await holdingsAt(settings, registry)
      const children = groupChildren(holdings, server)
      return supervisorSpec(
        { name: 'group', strategy: 'one_for_all', children },
        { name: names.group },
      ).start(ctx)
    },
  }
}

function groupChildren(holdings: Holdings, server: ActorRef): ChildSpec[] {
  const { names, limits, timeouts } = holdings.settings
  return [
    dynamicSupervisorSpec({ name: 'sessions', maxChildren: limits.sessions }, { name: names.sessions }),
    // requests clean up when their signal aborts: there is nothing to wait for
    taskSupervisorSpec({ name: 'tasks' }, { name: names.tasks, shutdown: 'brutal_kill' }),
    childSpec(baseActor, holdings, { name: names.base }),
    {
      id: 'transport',
      shutdown: timeouts.drain + 1_000,
      start: (ctx) => startTransport(holdings, server, ctx),
    },
  ]
}

async function startTransport(holdings: Holdings, server: ActorRef, ctx: ActorContext): Promise<ProcessRef> {
  const { names, timeouts } = holdings.settings
  const { port, close } = await openPort(holdings, ctx)
  try {
    const listener = await holdings.binding.start(ctx, port, {
      name: names.transport,
      drainTimeout: timeouts.drain,
      stopping: () => isStopping(server),
      finished: () =>
        void supervisorAt(server)
          .stop()
          .catch(() => {}),
    })
    listener.onExit(close)
    return listener
  } catch (error) {
    close()
    throw error
  }
}

/** Whether the server itself is: the group alone also stops when it gave up, and then comes back. */
function isStopping(server: ActorRef): boolean {
  return (processOf(server) as Actor).phase === 'stopping'
}

/** The port of one incarnation of the group. Throws RuntimeError NOPROC when the group is not complete. */
async function openPort(
  holdings: Holdings,
  ctx: ActorContext,
): Promise<{ port: ServerPort; close: () => void }> {
  const { revisions, limits, cluster } = holdings.settings
  const sessions = new Sessions(holdings, ctx)
  const exchanges = new Exchanges(holdings, ctx)
  const local = Object.freeze({
    revisions,
    values: holdings.values,
    maxOpen: Math.min(limits.requests, limits.statelessRequests) + limits.waiting,
    open: (request, peer) => sessions.open(request, peer),
    deliver: (id, message, sink, peer) => sessions.deliver(id, message, sink, peer),
    knows: (id) => sessions.knows(id),
    admit: (id, peer) => sessions.admit(id, peer),
    attach: (id, sink, peer) => sessions.attach(id, sink, peer),
    close: (id, peer) => sessions.close(id, peer),
    exchange: (call) => exchanges.exchange(call),
    endSubscriptions: () => exchanges.endSubscriptions(),
  } satisfies Services)
  const pages = holdings.logins?.pages
  const withPages = (port: ServerPort): ServerPort => (pages === undefined ? port : { ...port, pages })
  if (cluster === undefined) return { port: withPages(serverPort(local)), close: () => sessions.end() }
  const { openClusterPort } = await partOf(holdings.settings, 'clustered')
  const base = ctx.registry.named<typeof baseActor>(holdings.settings.names.base)
  const { port, close } = openClusterPort(cluster, ctx.world, {
    ...local,
    retire(signal) {
      exchanges.endSubscriptions()
      return sessions.retire(signal)
    },
    hear: (news) => void base.cast('hear', news),
    lost: (sessionIds) => sessions.lose(sessionIds),
    missed: (sessionId) => sessions.missed(sessionId),
  })
  const closeAll = (): void => {
    sessions.end()
    close()
  }
  return { port: withPages(serverPort(port)), close: closeAll }
}

function handleOf(settings: ServerSettings, place: ServerPlace, registry: Registry, ref: ActorRef): Server {
  const { name, names } = settings
  return new Server({ name, names, registry, place, supervisor: supervisorAt(ref) })
}

async function holdingsAt({ names }: ServerSettings, registry: Registry): Promise<Holdings> {
  const holdings = registry.whereis(names.holdings) as RefOf<typeof holdingsActor> | undefined
  if (holdings === undefined) throw new RuntimeError('NOPROC', `${names.holdings} is not running`)
  return holdings.call('share')
}

/**
 * Unwraps what the caller wants to hear of, such as a taken port, from START_FAILED of child and grandchild.
 */
async function causeOfFailedStart(error: unknown, settings: ServerSettings, registry: Registry) {
  return causeOf(error) ?? (await alreadyStarted(error, settings, registry)) ?? error
}

/** The error that hands over the server of the same name; undefined for a start that failed otherwise. */
async function alreadyStarted(error: unknown, settings: ServerSettings, registry: Registry) {
  const cause = causesOf(error).find((one) => one instanceof RuntimeError && one.code === 'ALREADY_STARTED')
  if (cause === undefined) return undefined
  // it may have ended meanwhile
  const holdings = await holdingsAt(settings, registry).catch(() => undefined)
  const ref = holdings?.place.supervisor
  if (holdings === undefined || ref === undefined) return undefined
  const server = handleOf(settings, holdings.place, registry, ref)
  const message = `there is a server called ${show(settings.name)} already`
  return new RuntimeError('ALREADY_STARTED', message, { cause, data: { ref, server } })
}

function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : []
}

/** A part that the settings ask for: whoever starts a server has checked that it is there. */
function partOf<Name extends keyof OptionalParts>(
  { parts }: ServerSettings,
  name: Name,
): ReturnType<NonNullable<OptionalParts[Name]>> {
  const load = (parts as OptionalParts)[name]
  if (load === undefined) throw optionError(name, `this server has no ${name}`)
  return load() as ReturnType<NonNullable<OptionalParts[Name]>>
}

/** What the caller wants to hear of: why a process, the port, or what the engine needs could not be had. */
export function causeOf(error: unknown): Error | undefined {
  return causesOf(error).find((one) => one instanceof TransportError || one instanceof ServerError)
}
