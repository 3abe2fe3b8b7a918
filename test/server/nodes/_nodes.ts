import { startSupervisor, type Supervisor } from 'caduceus/runtime'
import type { ClusterEngine, Server, ServerDefinition, ServerOptions } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { EngineCluster } from '../../../server/nodes/engine-cluster.js'
import { nodeSpec } from '../../../server/server-supervisor.js'
import type { TestContext } from '../../support/suite.js'
import { clusterOf, retire } from './_cluster-of.js'
import type { SuiteLimits } from './_cluster-suite.js'

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
  { options = {}, limits = {} }: { options?: Partial<ServerOptions>; limits?: SuiteLimits } = {},
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
  }: { name: string; options?: Partial<ServerOptions>; limits?: SuiteLimits },
): Promise<EngineNode> {
  const supervisor = await startSupervisor({ name, strategy: 'rest_for_one', logger: false, children: [] })
  t.after(() => supervisor.ref.alive && supervisor.stop())
  const given = { transport: serveHttp(), name, limits, ...options, engine: engineOf(name) }
  const server = (await supervisor.startChild(nodeSpec(definition, given, name))).extra as Server
  const cluster = await clusterOf(server)
  return {
    name,
    url: String(server.url),
    server,
    cluster,
    supervisor,
    retire: (signal) => retire(cluster, signal),
    kill: () => supervisor.ref.kill(),
  }
}
