import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { EngineCluster } from './engine-cluster.js'
import { isUnavailable } from './unavailable.js'

/** Milliseconds until an engine that is away is opened again. */
const retryAfter = 500

interface Opening {
  readonly cluster: EngineCluster
  /** Whether the server runs: it goes on without the engine, and refuses sessions meanwhile. */
  readonly isRestart: boolean
}

/** Opens the engine, and owns its connections. */
export const engineActor = defineActor({
  name: 'engine',
  async init({ cluster, isRestart }: Opening, ctx) {
    if (isRestart) ctx.sendAfter(0)
    else await open(cluster, ctx)
    return { cluster, [describe]: () => `${cluster.opener.name}, ${cluster.view.isUp ? 'up' : 'away'}` }
  },
  info: {
    async timer({ cluster }, _payload, ctx) {
      try {
        await open(cluster, ctx)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        ctx.sendAfter(retryAfter)
      }
    },
  },
})

async function open(cluster: EngineCluster, ctx: ActorContext): Promise<void> {
  const engine = await cluster.opener.open(ctx, cluster)
  ctx.own(cluster.connect(engine))
}
