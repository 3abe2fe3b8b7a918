import { chanceOf, happens } from '../world/chance.js'
import { retries } from './draw-cast.js'
import type { Focus } from './focus.js'
import type { Act, ActKind, ClientPlan } from './plan.js'

const weights: Record<ActKind, number> = {
  append: 25,
  read: 12,
  echo: 12,
  once: 8,
  elicit: 5,
  sample: 3,
  roots: 2,
  steps: 3,
  slow: 10,
  hang: 2,
  big: 2,
  defer: 3,
  resource: 4,
  prompt: 3,
  complete: 2,
  list: 4,
  pages: 2,
  ping: 3,
  touch: 8,
  subscribe: 6,
  unsubscribe: 2,
  level: 1,
  transaction: 6,
  reconnect: 1,
  follow: 1,
  change: 1,
}
/** What a revision without sessions does not have. */
const needsSession: ReadonlySet<ActKind> = new Set(['append', 'read'])
/** What only a client of its own can do. */
const needsClient: ReadonlySet<ActKind> = new Set([
  'subscribe',
  'unsubscribe',
  'level',
  'reconnect',
  'follow',
])
/** What is done to one thing that all share: once at a time. */
const single: ReadonlySet<ActKind> = new Set([...needsClient, 'change', 'transaction'])
/** How many resources are told of. */
const resources = 3

/** Draws what clients are asked to do, and when. */
export function drawActs(
  seed: number,
  operations: number,
  length: number,
  clients: readonly ClientPlan[],
  focus: Focus,
): readonly Act[] {
  const chance = chanceOf(seed, 'acts')
  const kinds = Object.keys(weights) as ActKind[]
  const weigh = (kind: ActKind): number => weights[kind] * (focus.kinds?.includes(kind) ? 12 : 1)
  const draw = (index: number): Act => {
    const client = chance.pick(clients) as ClientPlan
    const operation = chance.pick(kinds, (kind) => (can(client, kind) ? weigh(kind) : 0)) ?? 'echo'
    const isShort = operation === 'hang' || happens(chance, 0.1)
    const timeout = isShort ? chance.between(50, 2_000) : chance.between(5_000, 60_000)
    const patience = happens(chance, 0.05) ? chance.between(1, 500) : undefined
    const count = happens(chance, 0.04) && !single.has(operation) ? chance.between(2, 8) : undefined
    const server = client.servers === undefined ? undefined : chance.pick(client.servers)
    const retry = happens(chance, 0.15) ? chance.pick(retries) : undefined
    return {
      id: index + 1,
      at: chance.next() * length,
      client: client.name,
      operation,
      timeout,
      ...(patience !== undefined && { patience }),
      ...(count !== undefined && { count }),
      ...(server !== undefined && { server }),
      ...(retry !== undefined && { retry }),
      ...(happens(chance, 0.05) && { impatient: true }),
      ...(operation === 'big' && { size: chance.pick([20_000, 300_000]) ?? 0 }),
      ...(operation === 'slow' && {
        size: chance.pick([3, 10, 30]) ?? 3,
        ms: chance.pick([1, 40, 300]) ?? 40,
        prolonged: happens(chance, 0.3),
      }),
      ...(operation === 'defer' && { ms: chance.between(1, 3_000) }),
      ...(['touch', 'subscribe', 'unsubscribe'].includes(operation) && {
        uri: `sim://note/${chance.between(1, resources)}`,
      }),
    }
  }
  return Array.from({ length: operations }, (_, index) => draw(index)).sort((a, b) => a.at - b.at)
}

function can({ era, kind }: ClientPlan, operation: ActKind): boolean {
  if (needsSession.has(operation)) return era === 'handshake'
  if (operation === 'transaction') return kind === 'pool'
  if (needsClient.has(operation)) return kind === 'client' || kind === 'fleet'
  return true
}
