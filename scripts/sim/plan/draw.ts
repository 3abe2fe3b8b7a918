import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import type { Act, ActKind, ClientPlan, FaultPlan, FaultVerb, Plan, ServerPlan } from './plan.js'

/** Draws what is to happen for a seed. Each part has chance of its own. */
export function drawPlan(seed: number, operations: number): Plan {
  const shape = chanceOf(seed, 'shape')
  const servers = Array.from({ length: shape.between(1, 2) }, (_, at) => drawServer(at))
  const clients = Array.from({ length: shape.between(2, 4) }, (_, at) => drawClient(at, servers, shape))
  const store = happens(shape, 0.6) ? 'durable' : 'memory'
  const length = operations * shape.between(20, 200)
  return {
    seed,
    length,
    store,
    servers,
    clients,
    acts: drawActs(chanceOf(seed, 'acts'), operations, length, clients),
    faults: drawFaults(chanceOf(seed, 'faults'), { length, store, servers, clients }),
  }
}

function drawServer(at: number): ServerPlan {
  return { name: `s${at + 1}`, address: `127.0.1.${at + 1}`, port: 3000 }
}

function drawClient(at: number, servers: readonly ServerPlan[], shape: Random): ClientPlan {
  const server = shape.pick(servers) as ServerPlan
  const era = shape.pick(['handshake', 'handshake', 'auto', 'modern'] as const) ?? 'handshake'
  return {
    name: `c${at + 1}`,
    address: `127.0.2.${at + 1}`,
    server: server.name,
    era,
    health: happens(shape, 0.5),
  }
}

const weights: Record<ActKind, number> = {
  append: 30,
  read: 15,
  echo: 20,
  elicit: 6,
  slow: 10,
  hang: 2,
  list: 5,
  ping: 3,
  touch: 4,
}
/** What a revision without sessions does not have. */
const needsSession: ReadonlySet<ActKind> = new Set(['append', 'read'])

function drawActs(
  chance: Random,
  operations: number,
  length: number,
  clients: readonly ClientPlan[],
): readonly Act[] {
  const kinds = Object.keys(weights) as ActKind[]
  const acts = Array.from({ length: operations }, (_, index) => {
    const client = chance.pick(clients) as ClientPlan
    const weight = (kind: ActKind): number =>
      client.era !== 'handshake' && needsSession.has(kind) ? 0 : weights[kind]
    const operation = chance.pick(kinds, weight) ?? 'echo'
    const isShort = operation === 'hang' || happens(chance, 0.1)
    const timeout = isShort ? chance.between(50, 2_000) : chance.between(5_000, 60_000)
    const patience = happens(chance, 0.05) ? chance.between(1, 500) : undefined
    const at = chance.next() * length
    return { id: index + 1, at, client: client.name, operation, timeout, ...(patience && { patience }) }
  })
  return acts.sort((a, b) => a.at - b.at)
}

type Stage = Pick<Plan, 'length' | 'store' | 'servers' | 'clients'>

function drawFaults(chance: Random, { length, store, servers, clients }: Stage): readonly FaultPlan[] {
  const count = chance.between(0, 12)
  const verbs: FaultVerb[] = [
    'kill',
    'power',
    'freeze',
    'jump',
    'upgrade',
    'crash',
    'cut',
    'oneWayCut',
    'reset',
    'slow',
  ]
  if (store === 'durable') verbs.push('fail', 'lose')
  const faults = Array.from({ length: count }, (_, index): FaultPlan => {
    const verb = chance.pick(verbs) as FaultVerb
    const base = { id: index + 1, at: chance.next() * length, verb }
    const lasts = 10 ** (1 + 3.7 * chance.next())
    const client = chance.pick(clients) as ClientPlan
    const server = chance.pick(servers) as ServerPlan
    if (['cut', 'oneWayCut', 'reset', 'slow'].includes(verb)) {
      const [target, other] = happens(chance, 0.5)
        ? [client.name, client.server]
        : [client.server, client.name]
      return { ...base, lasts, target, other }
    }
    if (verb === 'fail' || verb === 'lose') return { ...base, lasts: lasts / 4, target: 'store' }
    const isServer = verb === 'upgrade' || verb === 'crash' || happens(chance, 0.7)
    const target = isServer ? server.name : client.name
    const amount = chance.between(-3_600_000, 3_600_000)
    return { ...base, lasts, target, ...(verb === 'jump' && { amount }) }
  })
  return faults.sort((a, b) => a.at - b.at)
}
