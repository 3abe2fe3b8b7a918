import { type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import { supervisorSpec } from '../../runtime/supervision/supervise.js'
import { engineActor } from './engine-actor.js'
import type { EngineCluster } from './engine-cluster.js'
import { memberActor, untold } from './member-actor.js'

/** Milliseconds that the start has: the engine is given 5 s. */
const startTime = 10_000

/**
 * What a node needs of its cluster, before all else of the server: it beats and hears of others for as long as
 * the engine is connected.
 */
export function clusterSpec(cluster: EngineCluster, name: string): ChildSpec {
  let isRestart = false
  const engine: ChildSpec = {
    id: 'engine',
    start(ctx) {
      const input = { cluster, isRestart }
      isRestart = true
      return childSpec(engineActor, input, { startTimeout: startTime }).start(ctx)
    },
  }
  const member = childSpec(memberActor, untold(cluster), { startTimeout: startTime })
  return supervisorSpec(
    { name: 'cluster', strategy: 'rest_for_one', children: [engine, member] },
    { id: 'cluster', name },
  )
}
