import { chanceOf, happens } from '../world/chance.js'
import { drawActs } from './draw-acts.js'
import { drawCast } from './draw-cast.js'
import { withClusters } from './draw-cluster.js'
import { withTokens } from './draw-auth.js'
import { drawFaults } from './draw-faults.js'
import { drawFocus } from './focus.js'
import type { Plan } from './plan.js'

/** Draws what is to happen for a seed. Each part has chance of its own. `clusters`: all servers are some. */
export function drawPlan(seed: number, operations: number, clusters = false): Plan {
  const shape = chanceOf(seed, 'shape')
  const focus = drawFocus(seed)
  const isDurable = happens(shape, 0.6)
  const store = focus.store ?? (isDurable ? 'durable' : 'memory')
  const length = operations * shape.between(20, 200)
  const { servers: drawn, clients } = drawCast(seed, focus)
  // what has sealed ids needs no store
  const servers = drawn.map((server) => ({ ...server, sealed: server.sealed && store === 'memory' }))
  const acts = drawActs(seed, operations, length, clients, focus)
  const plan = withTokens({
    seed,
    length,
    store,
    issuers: [],
    servers,
    clients,
    acts,
    faults: drawFaults(chanceOf(seed, 'faults'), { length, store, servers, clients, acts }, focus),
    intrusions: [],
  })
  return clusters ? withClusters(plan) : plan
}
