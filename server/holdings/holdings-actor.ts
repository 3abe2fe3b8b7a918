import { defineActor } from '../../runtime/process/behaviour.js'
import { type ActorContext, lastingWorld } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import { type ActorRef, processOf } from '../../runtime/process/ref.js'
import { RestartWindow } from '../../runtime/supervision/restart-window.js'
import { ClientCounts } from '../../transports/connections/client-counts.js'
import type { Binding } from '../../transports/contract/contract.js'
import { emitTransport, originHere } from '../../transports/contract/events.js'
import { handlersSlice, Rota } from '../../runtime/tasks/rota.js'
import type { World } from '../../runtime/time/world.js'
import type { Values } from '../../transports/contract/values.js'
import { TransportError } from '../../transports/base/errors.js'
import { emitServer, type ServerNoticeEvent } from '../base/events.js'
import type { Secrets } from '../base/sealing.js'
import type { Cluster } from '../cluster/cluster.js'
import { warnOfScopes } from '../catalog/authorization.js'
import { Catalog } from '../catalog/catalog.js'
import type { Changes } from '../context/changes.js'
import type { Isolation } from '../context/isolated.js'
import type { ServerDefinition } from '../definitions/define-server.js'
import type { Owner, UpstreamRecord } from '../definitions/upstreams.js'
import { Hibernation } from './hibernation.js'
import { KnownClients } from './known-clients.js'
import type { ServerSettings } from './options.js'
import { RequestStates, sealRequestStates } from './request-state.js'
import { inMemory } from '../engine/in-memory.js'
import { LocalEngine, type OpenEngine } from '../engine/local-engine.js'
import type { SessionStore } from '../engine/session-store.js'
import type { TaskStore } from '../engine/task-store.js'
import { SealedValues } from '../engine/values.js'
import type { Auditor } from './auditor.js'
import type { GatewayLogins } from './gateway-logins.js'
import type { Rates } from './rates.js'
import type { WaitingBytes } from '../base/waiting-line.js'

/** What outlives every restart of a server's group, which gets it at its start. */
export interface Holdings {
  readonly settings: ServerSettings
  readonly place: ServerPlace
  readonly binding: Binding
  readonly store: SessionStore
  /** Undefined where no tool runs as a task. */
  readonly taskStore: TaskStore | undefined
  /** What listeners keep; undefined: the engine keeps nothing for them. */
  readonly values: Values | undefined
  /** The logins of users at servers behind this one; undefined: there may be none. */
  readonly logins: GatewayLogins | undefined
  /** Undefined where there is no `limits.rate`. */
  readonly rates: Rates | undefined
  /** Undefined where nobody hears of calls. */
  readonly auditor: Auditor | undefined
  readonly catalog: Catalog
  readonly restores: RestoreLimit
  readonly requestStates: RequestStates
  readonly waiting: WaitingBytes
  /**
   * Whose request begins next, while handlers take their time: callers take turns. None rests, since time that
   * nobody uses is lost to all.
   */
  readonly rota: Rota
  readonly known: KnownClients
  /** Sessions that are only their records. */
  readonly asleep: Hibernation
  /** The sessions of each client, by their ids, also those that hibernate. */
  readonly clients: ClientCounts<string>
  readonly changes: Changes
  /** What is told once. */
  readonly told: Set<ServerNoticeEvent['type']>
  /** Undefined where nothing is isolated. */
  readonly isolation: Isolation | undefined
  /** What is known of servers behind this one, by name. */
  readonly upstreams: Map<string, UpstreamRecord>
  /** Whose names and addresses of a gateway are, by kind and name as they are listed, the oldest first. */
  owners: ReadonlyMap<string, Owner>
  /** What stands before the `+` of addresses of servers that are no more: it is nobody else's. */
  readonly removed: Set<string>
  /**
   * Definitions of servers behind this one that are remembered nowhere else: digests, by what they are of.
   */
  readonly pinned: Map<string, Map<string, string>>
  /** The module of the machine of sessions; undefined where nobody inspects them. */
  readonly machine: SessionMachine | undefined
}

type SessionMachine = typeof import('./session-machine.js')

interface HoldingsInput {
  readonly settings: ServerSettings
  readonly place: ServerPlace
  readonly supervisor: ActorRef
  readonly changes: Changes
}

/** Where a server is. It outlives the holdings and their supervisor, so that they return to the same port. */
export interface ServerPlace {
  binding: Binding | undefined
  /** The last started supervisor of the server; undefined before its first start. */
  supervisor: ActorRef | undefined
}

/**
 * Owns what must outlive the group: the port, the engine, the components added at run time. Does nothing else.
 */
export const holdingsActor = defineActor({
  name: 'holdings',
  stray: 'report',
  async init(
    { settings, place, supervisor, changes }: HoldingsInput,
    ctx: ActorContext,
  ): Promise<Holdings & { [describe](): string }> {
    const { definition, transport } = settings
    const isOnPipes = transport.name === 'stdio'
    if (isOnPipes) warnOfScopes(definition)
    // a server with many connections may lack file descriptors to load modules later
    else await prepare(definition)
    const binding = await bind(settings, place, ctx)
    place.binding = binding
    const { url, port } = binding
    const about = { ...originHere(transport.name), server: settings.name, url, port }
    emitTransport('listener', () => ({ ...about, type: 'listening' }))
    ctx.own(() => emitTransport('listener', () => ({ ...about, type: 'stopped' })))
    place.supervisor = supervisor
    const world = lastingWorld(ctx.world)
    const { cluster, limits, timeouts, revisions, parts, local = LocalEngine.parts(inMemory()) } = settings
    const open =
      cluster ?? (await local.open(ctx, { maxSessions: limits.sessions, idleTimeout: timeouts.idle }))
    const { secrets = [world.randomBytes(32)] } = open
    const values = valuesOf(open, secrets, world)
    const asleep = new Hibernation()
    return {
      settings,
      place,
      binding,
      store: open.sessions,
      values,
      logins: await loginsOf(settings, binding, values, world),
      rates:
        limits.rate &&
        parts.rates &&
        new (await parts.rates()).Rates(limits.rate, settings.name, values, world),
      auditor:
        settings.audit &&
        parts.auditor &&
        new (await parts.auditor()).Auditor(settings.audit, world, (problem) =>
          emitServer('notice', () => ({
            ...{ type: 'audit', level: 'warn', tree: processOf(ctx.self).tree.id, server: settings.name },
            problem,
          })),
        ),
      taskStore: settings.tasks && open.tasks,
      catalog: new Catalog(
        definition,
        { pageSize: limits.pageSize, revisions, cursorKeys: secrets, hasTasks: settings.tasks !== undefined },
        world,
      ),
      restores: new RestoreLimit(),
      waiting: { bytes: 0 },
      told: new Set(),
      rota: new Rota(world, undefined, handlersSlice, false),
      known: new KnownClients(),
      asleep,
      clients: new ClientCounts(limits.sessionsPerClient),
      changes,
      upstreams: new Map(),
      owners: new Map(),
      removed: new Set(),
      pinned: new Map(),
      machine: settings.inspect && (await parts.machine?.()),
      isolation:
        settings.isolation === undefined || parts.isolated === undefined
          ? undefined
          : new (await parts.isolated()).IsolatedCalls(ctx.registry, settings.names.isolation),
      requestStates: new RequestStates({
        sealing: sealRequestStates(secrets),
        server: definition.info.name,
        world,
      }),
      [describe]: () => `${binding.url ?? transport.name}${sleepers(asleep)}`,
    }
  },
  call: {
    share: (holdings): Holdings => holdings,
  },
})

/** All nodes have theirs in common; an engine of this program alone has them where it keeps any. */
function valuesOf(open: Cluster | OpenEngine, secrets: Secrets, world: World): Values | undefined {
  const { values } = open
  if (values === undefined || !('setValue' in values)) return values
  return new SealedValues(
    () => values,
    () => secrets,
    world,
  )
}

async function loginsOf(
  { definition: { gateway: plan, info }, parts }: ServerSettings,
  binding: Binding,
  values: Values | undefined,
  world: World,
): Promise<GatewayLogins | undefined> {
  if (plan === undefined || parts.logins === undefined) return undefined
  const { GatewayLogins: Logins } = await parts.logins()
  return new Logins({
    values,
    world,
    name: info.title ?? info.name,
    binding,
    origin: plan.origin,
    modules: plan.modules,
  })
}

function sleepers({ size }: Hibernation): string {
  return size === 0 ? '' : `, ${size} sessions hibernate`
}

/** Loads the modules of schema checks before the first session. */
async function prepare({ tools, lowLevel }: ServerDefinition): Promise<void> {
  const params = [...lowLevel.methods.values()].map((method) => method.params)
  const schemas = [...tools.flatMap(({ schema, output }) => [schema, output]), ...params]
  for (const schema of schemas) await schema?.prepare?.()
}

/** Binds where it was before; if another program has that port now, as at the first start. */
async function bind(
  { transport }: ServerSettings,
  { binding }: ServerPlace,
  ctx: ActorContext,
): Promise<Binding> {
  if (binding === undefined) return transport.bind(ctx)
  try {
    return await transport.bind(ctx, binding)
  } catch (error) {
    if (!(error instanceof TransportError && error.code === 'LISTEN_FAILED')) throw error
    return transport.bind(ctx)
  }
}

const crashes = 2
const periodMs = 5_000
const maxWatched = 1_000

/** Counts crashes of each session, above the group: the third within 5 s ends it instead of restoring it. */
export class RestoreLimit {
  readonly #windows = new Map<string, RestartWindow>()

  add(id: string, now: number): boolean {
    const window = this.#windows.get(id) ?? new RestartWindow(crashes, periodMs)
    this.#windows.set(id, window)
    if (this.#windows.size > maxWatched) this.#forgetQuiet(now)
    return window.add(now)
  }

  forget(id: string): void {
    this.#windows.delete(id)
  }

  #forgetQuiet(now: number): void {
    for (const [id, window] of this.#windows) if (window.left(now) === crashes) this.#windows.delete(id)
  }
}
