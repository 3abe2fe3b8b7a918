import { peerSpec } from '../../runtime/peers/peer.js'
import type { Actor } from '../../runtime/process/actor.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { processOf } from '../../runtime/process/ref.js'
import { Registry } from '../../runtime/process/registry.js'
import { type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import { dynamicSupervisorSpec } from '../../runtime/supervision/dynamic.js'
import type { SupervisorOptions } from '../../runtime/supervision/options.js'
import { startSupervisor } from '../../runtime/supervision/supervise.js'
import { readWorld } from '../../runtime/time/world.js'
import { taskSupervisorSpec } from '../../runtime/tasks/supervisor.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Secrets } from '../base/sealing.js'
import { ServerError } from '../base/errors.js'
import { type DoorPlace, doorActor, type DoorRef } from './door.js'
import { type HostRef, hostActor } from './host.js'
import { keeperActor } from './keeper.js'
import type { NodeEngine, NodeInput } from './node-ref.js'
import { splitServerOptions, type TreeWideOptions } from '../holdings/options.js'
import { stopOnSignals } from '../base/signals.js'
import { ServerProcesses } from './handle.js'
import { processNames } from './names.js'
import { type ProcessesOptions, type ProcessesSettings, readProcessesOptions } from './options.js'

/** Starts a module as `startServer` does. Rejects: what a process, the port or the engine lacks is a cause. */
export async function startProcesses(
  module: URL,
  options: ProcessesOptions & Omit<TreeWideOptions, 'onBlocked' | 'blockedAfter'>,
): Promise<ServerProcesses> {
  const { own, treeWide, signals } = splitServerOptions(options)
  const { registry = new Registry() } = treeWide
  const world = readWorld(treeWide.clock)
  const settings = readProcessesOptions(module, own)
  const place: DoorPlace = { address: undefined }
  const supervisor = await startSupervisor({
    ...treeWide,
    // none of an author's code runs here
    onBlocked: 'ignore',
    registry,
    clock: world,
    ...processesSupervisor(settings, place),
  })
  const server = new ServerProcesses({ name: settings.name, registry, supervisor, place })
  if (signals)
    supervisor.ref.onExit(
      stopOnSignals({ stop: () => server.stop(), hangUp: () => server.reload(), endsOnHangUp: false }),
    )
  return server
}

/** The door comes first: the port stays taken, whatever ends after it. */
function processesSupervisor(settings: ProcessesSettings, place: DoorPlace): SupervisorOptions {
  const { name, sharing, local, limits, timeouts } = settings
  const names = processNames(name)
  return {
    name: `server ${name}`,
    strategy: 'rest_for_one',
    children: [
      childSpec(doorActor, { sharing, place }, { name: names.door }),
      taskSupervisorSpec({ name: 'tasks' }, { name: names.tasks, shutdown: 'brutal_kill' }),
      {
        id: 'engine',
        start(ctx) {
          const tasks = known(ctx.registry, names.tasks)
          const sizes = { maxSessions: limits.sessions, idleTimeout: timeouts.idle }
          const input = { engine: local, tasks, ...sizes }
          return childSpec(hostActor, input, { name: names.engine }).start(ctx)
        },
      },
      dynamicSupervisorSpec({ name: 'nodes' }, { name: names.nodes, shutdown: 'infinity' }),
      // its end waits for calls in flight, for `timeouts.drain`
      {
        id: 'keeper',
        shutdown: 'infinity',
        start: async (ctx) => (await keeperSpec(settings, place, ctx)).start(ctx),
      },
    ],
  }
}

async function keeperSpec(
  settings: ProcessesSettings,
  place: DoorPlace,
  { registry, self }: ActorContext,
): Promise<ChildSpec> {
  const { name, count, timeouts, module, transport, server } = settings
  const names = processNames(name)
  const host = known(registry, names.engine) as HostRef
  const door = known(registry, names.door) as DoorRef
  const { url = '', host: hostname = '', port = 0, drainDelay = 0 } = place.address ?? {}
  const address = { url, host: hostname, port }
  const engine = withSecrets(settings.engine, await host.call('secrets'))
  const common = { module, host, door, transport, address, engine, options: server }
  return childSpec(
    keeperActor,
    {
      count,
      drainTimeout: timeouts.drain,
      drainDelay: Math.min(drainDelay, timeouts.drain),
      stopping: () => (processOf(self) as Actor).phase === 'stopping',
      supervisor: known(registry, names.nodes),
      host,
      door,
      nameOf: (number) => `${name} ${number}`,
      spec: (nodeName) => nodeSpec(settings, { ...common, name: nodeName }),
      endStarting() {
        for (const known of registry.names())
          if (known.startsWith(names.node('')) && registry.state(known).state === 'starting')
            registry.whereis(known)?.kill()
      },
    },
    // each process has its own time to start
    { name: names.keeper, startTimeout: Number.POSITIVE_INFINITY },
  )
}

function withSecrets(engine: NodeEngine, secrets: Secrets | undefined): NodeEngine {
  if (engine.kind !== 'hosted' || secrets === undefined) return engine
  return { ...engine, settings: { ...engine.settings, secrets } }
}

function nodeSpec({ name, peer, timeouts }: ProcessesSettings, args: NodeInput): ChildSpec {
  return peerSpec(
    { ...peer, name: args.name, args, errors: { TransportError, ServerError } },
    { name: processNames(name).node(args.name), restart: 'temporary', shutdown: timeouts.drain + 5_000 },
  )
}

function known(registry: Registry, name: string) {
  const ref = registry.whereis(name)
  if (ref === undefined) throw new ServerError('BAD_DEFINITION', `${name} is not running`)
  return ref
}
