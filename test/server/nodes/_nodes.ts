import { startSupervisor, type Supervisor, systemWorld } from 'caduceus/runtime'
import type { ClusterEngine, Server, ServerDefinition, ServerOptions } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { clusterSpec } from '../../../server/nodes/cluster-supervisor.js'
import { EngineCluster, type EngineClusterOptions } from '../../../server/nodes/engine-cluster.js'
import type { Inbox } from '../../../server/cluster/cluster.js'
import { nodeSpec } from '../../../server/server-supervisor.js'
import type { TestContext } from '../../support/suite.js'

export interface EngineNode {
  readonly name: string
  readonly url: string
  readonly server: Server
  readonly cluster: EngineCluster
  readonly supervisor: Supervisor
  /** Lets its sessions go, as a node does that is about to end. */
  retire(signal?: AbortSignal): Promise<void>
  /** It ends at once. */
  kill(): void
}

/** Nodes of one server in this program, each a tree of its own over an engine that all of them share. */
export async function startEngineNodes(
  t: Pick<TestContext, 'after'>,
  definitions: readonly ServerDefinition[],
  engineOf: (name: string) => ClusterEngine,
  {
    options = {},
    limits = {},
  }: { options?: Partial<ServerOptions>; limits?: Partial<EngineClusterOptions> } = {},
): Promise<EngineNode[]> {
  const nodes = definitions.map((definition, index) =>
    startEngineNode(t, definition, engineOf, { name: `node-${index + 1}`, options, limits }),
  )
  const started = await Promise.all(nodes)
  // each has heard of all the others
  for (const { cluster } of started) await cluster.beat()
  return started
}

export async function startEngineNode(
  t: Pick<TestContext, 'after'>,
  definition: ServerDefinition,
  engineOf: (name: string) => ClusterEngine,
  {
    name,
    options = {},
    limits = {},
  }: { name: string; options?: Partial<ServerOptions>; limits?: Partial<EngineClusterOptions> },
): Promise<EngineNode> {
  const cluster = new EngineCluster(engineOf(name), {
    world: systemWorld,
    server: 'tests',
    idleTimeout: 30 * 60_000,
    maxSessions: 10_000,
    maxSessionsPerClient: undefined,
    node: name,
    ...limits,
  })
  const listen = cluster.listen.bind(cluster)
  let heard: Inbox | undefined
  cluster.listen = (inbox) => {
    heard = inbox
    return listen(inbox)
  }
  const supervisor = await startSupervisor({
    name,
    strategy: 'rest_for_one',
    logger: false,
    children: [clusterSpec(cluster, `${name}/cluster`)],
  })
  t.after(() => supervisor.ref.alive && supervisor.stop())
  const spec = nodeSpec(definition, { transport: serveHttp(), name, ...options }, cluster)
  const { extra } = await supervisor.startChild(spec)
  const server = extra as Server
  const retire = async (signal = new AbortController().signal): Promise<void> => {
    cluster.retire()
    await heard?.retire(signal)
  }
  return {
    name,
    url: String(server.url),
    server,
    cluster,
    supervisor,
    retire,
    kill: () => supervisor.ref.kill(),
  }
}
