import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import { handled, lastTurns } from '../../runtime/base/promise.js'
import { subscribe } from '../../runtime/faults/events.js'
import { type ActorRef, type ProcessRef, processOf, type RefOf } from '../../runtime/process/ref.js'
import { Registry } from '../../runtime/process/registry.js'
import { type ChildOverrides, type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import type { SupervisorOptions } from '../../runtime/supervision/options.js'
import { startSupervisor, supervisorSpec } from '../../runtime/supervision/supervise.js'
import { linkActor } from '../../transports/link/actor.js'
import type { Demand } from '../base/demand.js'
import { callError, type ClientError, type ClientErrorCode } from '../base/errors.js'
import { clientActorName, transportName } from '../base/names.js'
import { bad, readMs, readOptions, readText } from '../base/read-options.js'
import { clientActor } from '../connection/client-actor.js'
import { Holdings } from '../holdings/holdings.js'
import {
  type ClientOptions,
  type ClientSettings,
  readClientOptions,
  readRegistry,
  readStartOptions,
  type StartClientOptions,
} from '../options/options.js'
import type { ClientParts } from '../requests/parts.js'
import { Client } from './client.js'
import { watchForgotten } from './forgotten.js'

/**
 * Starts a client in a tree of its own; returns while it connects, and calls may be made at once. Throws
 * BAD_OPTION, naming the field. Other failures reject `ready()`, the calls, and `closed`. With
 * `startClient<typeof definition>` its `tools` have the types of that server.
 */
export function startClient<Served = unknown>(options: StartClientOptions): Client<Served> {
  const { client: settings, tree } = readStartOptions(options)
  const registry = tree.registry ?? new Registry()
  checkFree(registry, clientActorName(settings.name), settings.name, 'client')
  const holdings = new Holdings(settings, tree.clock)
  const starting = handled(startSupervisor({ ...group(settings, holdings), ...tree, registry }))
  const client = new Client<Served>({
    registry,
    settings,
    holdings,
    stop: async () => {
      const supervisor = await starting
      if (supervisor.ref.alive) await supervisor.stop()
      await lastTurns(tree.clock)
    },
  })
  void followName(holdings, registry, starting)
  watchForgotten(holdings, holdings.world)
  return client
}

/**
 * The child spec of a client; its start hands out the handle as `extra`, and `findClient` finds it. Under
 * `permanent` (default) giving up counts as one restart of its parent. Throws BAD_OPTION.
 */
export function clientSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  return specOf(readClientOptions(options), overrides)
}

/** `demand`: who waits for the client, also while there is none. */
export function specOf(settings: ClientSettings, overrides: ChildOverrides = {}, demand?: Demand): ChildSpec {
  const of = (holdings: Holdings): ChildSpec =>
    supervisorSpec(group(settings, holdings), { id: groupName(settings.name), ...overrides })
  return handingOut(settings, of, demand)
}

/**
 * The spec of a client without its transport; the same supervisor (one_for_one) has `transportSpec` of the
 * same options. Each outlives the other, and the client reconnects. Start hands out the handle as `extra`.
 * Throws BAD_OPTION.
 */
export function clientActorSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  const settings = readClientOptions(options)
  const name = clientActorName(settings.name)
  const how = { id: name, startTimeout: Number.POSITIVE_INFINITY, ...overrides, name }
  const spec = handingOut(settings, (holdings) => childSpec(clientActor, { settings, holdings }, how))
  return {
    ...spec,
    async start(ctx) {
      const started = (await spec.start(ctx)) as { readonly ref: RefOf<typeof clientActor> }
      // a transport says that it is there when it starts: one that runs already has told the client before
      if (ctx.registry.state(transportName(settings.name)).state === 'up') started.ref.cast('attached')
      return started
    },
  }
}

/**
 * The spec of the transport alone; its supervisor also has `clientActorSpec` of these options. Throws
 * BAD_OPTION.
 */
export function transportSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  const { name: client, transport } = readClientOptions(options)
  const name = transportName(client)
  const input = { transport, owner: clientActorName(client) }
  return childSpec(linkActor, input, { id: name, shutdown: 8_000, ...overrides, name })
}

/** Its start hands out the handle. In another tree it is another client; restarted in one, the same. */
function handingOut(
  settings: ClientSettings,
  of: (holdings: Holdings) => ChildSpec,
  demand?: Demand,
): ChildSpec {
  const places = new WeakMap<Registry, Holdings>()
  return {
    ...of(new Holdings(settings)),
    async start(ctx) {
      const { registry, self } = ctx
      const { tree } = processOf(self)
      const known = places.get(registry)
      const holdings = known === undefined || known.over ? new Holdings(settings, tree.world, demand) : known
      places.set(registry, holdings)
      const ref = (await of(holdings).start(ctx)) as ProcessRef
      if (holdings !== known) void followName(holdings, registry, Promise.resolve())
      return { ref, extra: new Client({ registry, settings, holdings }) }
    },
  }
}

/**
 * A handle to a running client, by name. Rejects with NOT_FOUND, GAVE_UP (ended for good), TIMEOUT (not
 * started within `timeout` ms, default 5000), NOT_READY (it crashed or has no room) or BAD_OPTION.
 */
export function findClient(
  registry: Registry,
  name: string,
  options: { readonly timeout?: number } = {},
): Promise<Client> {
  return handled(find(registry, name, options))
}

async function find(registry: Registry, name: string, options: object): Promise<Client> {
  const { timeout } = readOptions(options, ['timeout'], '{ timeout: 5000 }')
  return new Client(await findParts(registry, name, readMs(timeout, 'timeout', 5_000)))
}

/** Rejects as `findClient`. */
export async function findParts(registry: Registry, name: string, timeout: number): Promise<ClientParts> {
  readRegistry(registry)
  const actor = registry.named<typeof clientActor>(clientActorName(readText(name, 'name')))
  try {
    const { settings, holdings } = await actor.call('handle', undefined, { timeout })
    return { registry, settings, holdings }
  } catch (error) {
    throw notFound(name, error)
  }
}

function notFound(name: string, cause: unknown): ClientError {
  // any other error: a process of that name is no client
  const code = (cause instanceof RuntimeError ? findCodes.get(cause.code) : undefined) ?? 'NOT_FOUND'
  const details = { sent: false, retryable: code === 'TIMEOUT' || code === 'NOT_READY', cause }
  return callError(code, `client ${name} cannot be found: ${messageOf(cause)}`, details)
}

const findCodes: ReadonlyMap<string, ClientErrorCode> = new Map([
  ['GAVE_UP', 'GAVE_UP'],
  ['TIMEOUT', 'TIMEOUT'],
  ['EXITED', 'NOT_READY'],
  ['MAILBOX_FULL', 'NOT_READY'],
])

/** Restarted together: a new client must not inherit a connection. */
function group(settings: ClientSettings, holdings: Holdings): SupervisorOptions {
  const { name, transport, intensity, periodMs } = settings
  const owner = clientActorName(name)
  return {
    name: groupName(name),
    strategy: 'one_for_all',
    intensity,
    periodMs,
    children: [
      childSpec(clientActor, { settings, holdings }, { name: owner, startTimeout: Number.POSITIVE_INFINITY }),
      childSpec(
        linkActor,
        { transport, owner, gauge: holdings.gauge },
        { name: transportName(name), shutdown: 8_000 },
      ),
    ],
  }
}

function groupName(name: string): string {
  return `client ${name}`
}

/** Throws BAD_OPTION when an actor of that name runs or starts. */
export function checkFree(registry: Registry, actor: string, name: string, kind: string): void {
  const { state } = registry.state(actor)
  if (state === 'up' || state === 'starting') throw nameTaken(name, kind)
}

export function nameTaken(name: string, kind: string): ClientError {
  return bad('name', `one that no ${kind} in this registry has`, name)
}

/** Tells the last state once no supervisor brings the client back, also after a failed start. */
async function followName(holdings: Holdings, registry: Registry, starting: Promise<unknown>): Promise<void> {
  const name = clientActorName(holdings.name)
  // a supervisor that gives up ends with `shutdown`, as in an orderly end: its exit does not tell them apart
  const unsubscribe = subscribe('supervisor', ({ tree, supervisor, reason }) => {
    if (reason === 'reached_max_restart_intensity' && tree === holdings.tree)
      holdings.gaveUp ||= supervisor === holdings.group?.name
  })
  try {
    await starting
    holdings.started = true
    for (;;) {
      const actor: ActorRef = await registry.whenUp(name, Number.POSITIVE_INFINITY)
      await new Promise((resolve) => actor.onExit(resolve))
    }
  } catch (error) {
    const closed = holdings.isClosed(registry)
    const what = `client ${holdings.name}`
    const reason = closed ? undefined : holdings.goneError(what, registry, { sent: false, cause: error })
    holdings.end({ phase: closed ? 'closed' : 'failed', reason, attempt: 0, delay: undefined })
  } finally {
    unsubscribe()
  }
}
