import type { Server } from 'caduceus/server'
import type { ClusterListener } from '../../../server/cluster/cluster.js'
import type { holdingsActor } from '../../../server/holdings/holdings-actor.js'
import { EngineCluster } from '../../../server/nodes/engine-cluster.js'

const heard = new WeakMap<EngineCluster, ClusterListener>()
const { listen } = EngineCluster.prototype

/** Notes who hears of the other nodes, to be asked to let go as the listener does. */
EngineCluster.prototype.listen = function (inbox) {
  heard.set(this, inbox)
  return listen.call(this, inbox)
}

/** What a running server sees of its cluster. */
export async function clusterOf({ registry, name }: Server): Promise<EngineCluster> {
  const holdings = registry.named<typeof holdingsActor>(`${name}/holdings`)
  const { settings } = await holdings.call('share')
  return settings.cluster as EngineCluster
}

/** Who hears of the other nodes. */
export function inboxOf(cluster: EngineCluster): ClusterListener | undefined {
  return heard.get(cluster)
}

/** Has a node let its sessions go, as one does that is about to end. */
export async function retire(cluster: EngineCluster, signal = new AbortController().signal): Promise<void> {
  cluster.retire()
  await heard.get(cluster)?.retire(signal)
}
