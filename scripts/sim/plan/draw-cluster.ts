import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import {
  type ClusterPlan,
  engineOf,
  type FaultPlan,
  type FaultVerb,
  type HttpPlan,
  type Plan,
  type ServerPlan,
} from './plan.js'

/** The plan with clusters for servers: what would happen to a server happens to a node, or to the engine. */
export function withClusters(plan: Plan): Plan {
  const chance = chanceOf(plan.seed, 'clusters')
  const servers = plan.servers.map((server, at) => ({
    ...server,
    // every node knows every session
    sealed: false,
    http: roomy(server.http),
    cluster: drawCluster(server, at, chance),
  }))
  // who loses what was saved, and loses the owner as well, has lost it
  const isLossy = happens(chance, 0.2)
  const moved = plan.faults.map((fault) => moveFault(fault, servers, chance))
  const own = drawFaults(plan, servers, chance, isLossy)
  const faults = [...moved.filter(({ verb, target }) => !isLossy || !ends(verb, target, servers)), ...own]
  return { ...plan, store: 'durable', servers, faults: faults.sort((a, b) => a.at - b.at) }
}

/** A node does not tell the session that it had no room for an event. */
function roomy({ streams, ...http }: HttpPlan): HttpPlan {
  const { resume, ...others } = streams ?? {}
  return { ...http, streams: resume === false ? { ...others, resume } : others }
}

function drawCluster({ name }: ServerPlan, at: number, chance: Random): ClusterPlan {
  const count = chance.between(2, 3)
  const requests = chance.pick([1, 1, 3, undefined])
  return {
    nodes: Array.from({ length: count }, (_, index) => ({
      name: `${name}.${index + 1}`,
      address: `127.0.1.${100 + 10 * at + index}`,
    })),
    lease: chance.pick([1_000, 2_500, 2_500, 5_000]) ?? 2_500,
    signed: happens(chance, 0.5),
    maxInbox: chance.pick([20, 10_000, 10_000]) ?? 10_000,
    ...(requests !== undefined && { requests }),
  }
}

type ClusterServer = ServerPlan & { readonly cluster: ClusterPlan }

/** The store is the engine. */
const ofStores: Partial<Record<FaultVerb, FaultVerb>> = { fail: 'away', lose: 'untold', lag: 'tardy' }

function moveFault(fault: FaultPlan, servers: readonly ClusterServer[], chance: Random): FaultPlan {
  const nodeOf = (name: string): string => {
    const server = servers.find((each) => each.name === name)
    return server === undefined ? name : (chance.pick(server.cluster.nodes)?.name ?? name)
  }
  const verb = ofStores[fault.verb]
  if (verb !== undefined) return { ...fault, verb, target: engineOf(chance.pick(servers)?.name ?? '') }
  return {
    ...fault,
    target: nodeOf(fault.target),
    ...(fault.other !== undefined && { other: fault.verb === 'revoke' ? fault.other : nodeOf(fault.other) }),
  }
}

/** Whether it ends a node, or part of it, or what it thinks of itself. */
function ends(verb: FaultVerb, target: string, servers: readonly ClusterServer[]): boolean {
  const isNode = servers.some(({ cluster }) => cluster.nodes.some(({ name }) => name === target))
  return isNode && ['kill', 'power', 'upgrade', 'crash', 'freeze'].includes(verb)
}

const verbs: readonly FaultVerb[] = [
  'away',
  'tardy',
  'stall',
  'untold',
  'mute',
  'part',
  'part',
  'part',
  'part',
]
const lossy: readonly FaultVerb[] = ['failOver', 'wipe']

function drawFaults(
  { length }: Plan,
  servers: readonly ClusterServer[],
  chance: Random,
  isLossy: boolean,
): FaultPlan[] {
  const any = isLossy ? [...verbs, ...lossy, ...lossy] : verbs
  const count = happens(chance, 0.2) ? 0 : chance.between(1, 6)
  return Array.from({ length: count }, (_, index): FaultPlan => {
    const { name, cluster } = chance.pick(servers) as ClusterServer
    const verb = chance.pick(any) as FaultVerb
    const lasts = 10 ** (1 + 3.3 * chance.next())
    const base = { id: 2_000 + index, at: chance.next() * length, lasts, verb, target: engineOf(name) }
    const node = chance.pick(cluster.nodes)?.name ?? name
    const amount = chance.between(0, 3)
    if (verb === 'part') return { ...base, target: node, other: engineOf(name), amount }
    return verb === 'failOver' ? { ...base, lasts: Math.min(lasts, 1_000) } : base
  })
}
