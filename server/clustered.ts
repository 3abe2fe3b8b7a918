import type { ChildSpec } from '../runtime/supervision/child-spec.js'
import type { World } from '../runtime/time/world.js'
import type { Services } from '../transports/inbound/services.js'
import type { Cluster } from './cluster/cluster.js'
import { clusterPort, type LocalPort } from './cluster/port.js'
import type { ClusterEngine } from './engine/engine.js'
import type { ServerSettings } from './holdings/options.js'
import { clusterSpec } from './nodes/cluster-supervisor.js'
import { EngineCluster } from './nodes/engine-cluster.js'

// what a server has that is one of several nodes: loaded with its engine

/** The place of one node among the others, and the child that holds it. */
export function joinCluster(
  engine: ClusterEngine,
  { limits, timeouts, definition, names }: ServerSettings,
  node: { readonly world: World; readonly node?: string },
): { cluster: Cluster; spec: ChildSpec } {
  const cluster = new EngineCluster(engine, {
    idleTimeout: timeouts.idle,
    maxSessions: limits.sessions,
    maxSessionsPerClient: limits.sessionsPerClient,
    server: definition.info.name,
    ...node,
  })
  return { cluster, spec: clusterSpec(cluster, names.cluster) }
}

/** The services of all nodes, over those of this one; `close` gives up what waits for others. */
export function openClusterPort(
  cluster: Cluster,
  world: World,
  local: LocalPort,
): { port: Services; close: () => void } {
  const port = clusterPort(local, cluster, world)
  const unlisten = cluster.listen(port)
  const handedOver = async (): Promise<void> => {
    unlisten()
    await port.settled()
  }
  const close = (): void => {
    unlisten()
    port.abandon()
  }
  return { port: { ...port, handedOver }, close }
}
