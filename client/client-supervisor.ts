import { type ChildOverrides, type ChildSpec, childSpec } from '../runtime/child-spec.js'
import { isNormal } from '../runtime/exit.js'
import { handled } from '../runtime/promise.js'
import type { ActorRef, ProcessRef } from '../runtime/ref.js'
import { Registry } from '../runtime/registry.js'
import { startSupervisor, supervisorSpec } from '../runtime/supervise.js'
import type { SupervisorOptions } from '../runtime/supervisor-options.js'
import { linkActor } from '../transports/link-actor.js'
import { goneError } from './caller.js'
import { Client } from './client.js'
import { clientActor } from './client-actor.js'
import { Holdings } from './holdings.js'
import { clientActorName, transportName } from './names.js'
import {
  bad,
  type ClientOptions,
  type ClientSettings,
  readClientOptions,
  readStartOptions,
  readText,
  type StartClientOptions,
} from './options.js'

/**
 * Starts a client in a supervised tree of its own and answers its handle at once, while it still connects; calls may be made right
 * away. Throws BAD_OPTION, naming the field; whatever else goes wrong is told by `ready()`, the calls, and `closed`.
 */
export function startClient(options: StartClientOptions): Client {
  const { client: settings, tree } = readStartOptions(options)
  const registry = tree.registry ?? new Registry()
  checkName(registry, settings)
  const holdings = new Holdings(settings.name)
  const starting = handled(startSupervisor({ ...group(settings, holdings), ...tree, registry }))
  const client = new Client({
    registry,
    settings,
    holdings,
    stop: async () => {
      const supervisor = await starting
      if (supervisor.ref.alive) await supervisor.stop()
    },
  })
  void followName(holdings, registry)
  return client
}

/**
 * The child spec of a client for a tree of yours; its start hands out the handle as `extra`, and `findClient` finds it by name. Under
 * `permanent` (the default) a client that gave up counts as one restart of its parent. Throws BAD_OPTION, naming the field.
 */
export function clientSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  const settings = readClientOptions(options)
  // One spec may be started in several trees; started again in the same one, it is the same client.
  const places = new WeakMap<Registry, Holdings>()
  const specOf = (holdings: Holdings): ChildSpec =>
    supervisorSpec(group(settings, holdings), { id: `client ${settings.name}`, ...overrides })
  return {
    ...specOf(new Holdings(settings.name)),
    async start(ctx) {
      const { registry } = ctx
      const known = places.get(registry)
      const holdings = known === undefined || known.over ? new Holdings(settings.name) : known
      places.set(registry, holdings)
      const ref = (await specOf(holdings).start(ctx)) as ProcessRef
      if (holdings !== known) void followName(holdings, registry)
      return { ref, extra: new Client({ registry, settings, holdings, stop: async () => {} }) }
    },
  }
}

/** A handle to a running client of any tree, by its name. Rejects as `Registry.whenUp` does: NOPROC, GAVE_UP or TIMEOUT. */
export function findClient(registry: Registry, name: string, timeout = 5_000): Promise<Client> {
  return handled(find(registry, name, timeout))
}

async function find(registry: Registry, name: string, timeout: number): Promise<Client> {
  if (!(registry instanceof Registry)) throw bad('registry', 'a Registry', registry)
  const actor = registry.named<typeof clientActor>(clientActorName(readText(name, 'name')))
  const { settings, holdings } = await actor.call('handle', undefined, { timeout })
  return new Client({ registry, settings, holdings, stop: async () => {} })
}

/** The client and its transport live and die together: a new client must not inherit a connection it knows nothing of. */
function group(settings: ClientSettings, holdings: Holdings): SupervisorOptions {
  const { name, transport, intensity, periodMs } = settings
  const owner = clientActorName(name)
  return {
    name: `client ${name}`,
    strategy: 'one_for_all',
    intensity,
    periodMs,
    children: [
      childSpec(clientActor, { settings, holdings }, { name: owner }),
      childSpec(linkActor, { transport, owner }, { name: transportName(name), shutdown: 8_000 }),
    ],
  }
}

function checkName(registry: Registry, { name }: ClientSettings): void {
  const { state } = registry.state(clientActorName(name))
  if (state === 'up' || state === 'starting')
    throw bad('name', 'one that no client in this registry has', name)
}

/** Waits until no supervisor brings the client back any more, and tells the last state then. */
async function followName(holdings: Holdings, registry: Registry): Promise<void> {
  const name = clientActorName(holdings.name)
  try {
    for (;;) {
      const actor: ActorRef = await registry.whenUp(name, Number.POSITIVE_INFINITY)
      await new Promise((resolve) => actor.onExit(resolve))
    }
  } catch (error) {
    const known = registry.state(name)
    const closed = holdings.closing || (known.state === 'ended' && isNormal(known.reason))
    const reason = closed ? undefined : goneError(`client ${holdings.name}`, registry, name, error)
    holdings.end({ phase: closed ? 'closed' : 'failed', reason, attempt: 0, delay: undefined })
  }
}
