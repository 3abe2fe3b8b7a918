import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import type {
  ClientPlan,
  FaultPlan,
  FaultVerb,
  Intrusion,
  IntrusionKind,
  IssuerPlan,
  Plan,
  ServerPlan,
} from './plan.js'

/** Share of plans in which servers want tokens. */
const share = 0.4
/** Who calls. */
const principals = ['ada', 'bob'] as const

/** In some plans servers want tokens, clients have them, and somebody tries to get in without. */
export function withTokens(plan: Plan): Plan {
  const chance = chanceOf(plan.seed, 'tokens')
  if (!happens(chance, share)) return plan
  const issuer = drawIssuer(chance)
  const servers = plan.servers.map((server) => ({ ...server, issuer: issuer.name }))
  // the configuration of a fleet has no place for a provider of tokens
  const clients = plan.clients.map(({ servers: _, connections, ...client }) => ({
    ...client,
    // a token must not live shorter than requests wait for a connection
    ...(connections !== undefined && issuer.lifetime >= 30 && { connections }),
    ...drawIdentity(chance),
    kind: client.kind === 'fleet' ? ('client' as const) : client.kind,
  }))
  const parts = { length: plan.length, issuer, servers, clients }
  const faults = [...plan.faults, ...drawFaults(chanceOf(plan.seed, 'faults of tokens'), parts)]
  return {
    ...plan,
    issuers: [issuer],
    servers,
    clients,
    faults: faults.sort((a, b) => a.at - b.at),
    intrusions: drawIntrusions(chanceOf(plan.seed, 'intrusions'), plan.length),
  }
}

function drawIssuer(chance: Random): IssuerPlan {
  const lifetime = chance.pick([3, 6, 10, 30, 300]) ?? 10
  const tokens = happens(chance, 0.5) ? 'jwt' : 'opaque'
  const refreshes = happens(chance, 0.8)
  return {
    name: 'a1',
    address: '127.0.3.1',
    port: 4000,
    // nobody is asked to sign in more than five times in ten minutes
    lifetime: refreshes ? lifetime : 300,
    tokens,
    refreshes,
    mishaps: happens(chance, 0.5) ? 0 : chance.next() * 0.2,
  }
}

function drawIdentity(chance: Random): Pick<ClientPlan, 'principal' | 'grant' | 'vault'> {
  return {
    principal: chance.pick(principals) ?? 'ada',
    grant: happens(chance, 0.4) ? 'client_credentials' : 'authorization_code',
    vault: happens(chance, 0.4),
  }
}

interface Parts {
  readonly length: number
  readonly issuer: IssuerPlan
  readonly servers: readonly ServerPlan[]
  readonly clients: readonly ClientPlan[]
}

function drawFaults(chance: Random, { length, issuer, servers, clients }: Parts): FaultPlan[] {
  const verbs: FaultVerb[] = ['kill', 'power', 'freeze', 'jump', 'cut', 'slow', 'rotate', 'rotate', 'revoke']
  return Array.from({ length: chance.between(0, 5) }, (_, index): FaultPlan => {
    const verb = chance.pick(verbs) as FaultVerb
    const lasts = 10 ** (1 + 3.7 * chance.next())
    const base = { id: 1_000 + index, at: chance.next() * length, lasts, verb, target: issuer.name }
    const other = (chance.pick([...servers, ...clients]) as ServerPlan).name
    const amount = chance.between(-3_600_000, 3_600_000)
    if (verb === 'revoke') return { ...base, other: chance.pick(principals) ?? 'ada' }
    if (verb === 'cut' || verb === 'slow') return { ...base, other }
    return verb === 'jump' ? { ...base, amount } : base
  })
}

const kinds: readonly IntrusionKind[] = [
  'none',
  'session',
  'session',
  'events',
  'events',
  'end',
  'stale',
  'revoked',
  'forged',
  'elsewhere',
]

function drawIntrusions(chance: Random, length: number): Intrusion[] {
  return Array.from({ length: 12 }, (_, index) => ({
    id: index + 1,
    at: length * (0.1 + 0.9 * chance.next()),
    kind: chance.pick(kinds) ?? 'none',
  })).sort((a, b) => a.at - b.at)
}
