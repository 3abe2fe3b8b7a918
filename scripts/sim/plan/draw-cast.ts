import { allRevisions } from '../../../protocol/index.js'
import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import type { Focus } from './focus.js'
import type { ClientPlan, HttpPlan, Plan, RetryPlan, ServerLimits, ServerPlan } from './plan.js'

/** Those in which a server may ask whatever it asks. */
const sessionRevisions = allRevisions.filter((revision) => revision < '2026')
const newest = '2026-07-28'

/** Draws who is there: servers, and clients of all kinds. */
export function drawCast(seed: number, { era }: Focus): Pick<Plan, 'servers' | 'clients'> {
  const chance = chanceOf(seed, 'cast')
  const names = Array.from({ length: chance.between(1, 2) }, (_, at) => `s${at + 1}`)
  const clients = Array.from({ length: chance.between(2, 4) }, (_, at) => drawClient(at, names, chance, era))
  const servers = names.map((name, at) => drawServer(at, clientsOf(name, clients), chance))
  return { servers, clients }
}

function clientsOf(server: string, clients: readonly ClientPlan[]): readonly ClientPlan[] {
  return clients.filter((client) => client.server === server || client.servers?.includes(server))
}

function drawServer(at: number, clients: readonly ClientPlan[], chance: Random): ServerPlan {
  const eras = new Set(clients.map(({ era }) => era))
  const sealed = happens(chance, 0.2)
  const parking = happens(chance, 0.2) ? false : { max: chance.pick([1, 2, 50]) ?? 50, time: 20_000 }
  return {
    name: `s${at + 1}`,
    address: `127.0.1.${at + 1}`,
    port: 3000,
    revisions: drawRevisions(eras, chance),
    sealed,
    keyed: happens(chance, 0.5),
    hooks: happens(chance, 0.3),
    parking: happens(chance, 0.5) ? true : parking,
    limits: happens(chance, 0.5) ? {} : drawLimits(chance),
    http: happens(chance, 0.5) ? {} : drawHttp(chance),
  }
}

/** Some revisions, among them one for each of the clients. */
function drawRevisions(eras: ReadonlySet<ClientPlan['era']>, chance: Random): ServerPlan['revisions'] {
  if (happens(chance, 0.6)) return allRevisions
  const some = sessionRevisions.filter(() => happens(chance, 0.4))
  const old = some.length > 0 || !eras.has('handshake') ? some : sessionRevisions.slice(0, 1)
  const hasNewest = eras.has('modern') || old.length === 0 || happens(chance, 0.5)
  return [...(hasNewest ? ([newest] as const) : []), ...old]
}

function drawLimits(chance: Random): ServerLimits {
  const some = <Name extends keyof ServerLimits>(name: Name, ...values: number[]): ServerLimits =>
    happens(chance, 0.4) ? { [name]: chance.pick(values) } : {}
  const few = some('maxSessions', 12, 20)
  return {
    ...few,
    ...some('idleTimeout', 2_000, 10_000, 60_000),
    // sessions of clients that have died do not keep out the others for ever
    ...(few.maxSessions !== undefined && { idleTimeout: 10_000 }),
    ...some('maxRequests', 1, 2, 8),
    ...some('maxExchanges', 1, 3, 10),
    ...some('maxWaiting', 1, 5, 100),
    ...some('maxListens', 1, 4),
    ...some('requestTimeout', 5_000, 30_000),
    ...some('askTimeout', 5_000, 30_000),
    ...some('pageSize', 1, 3),
  }
}

function drawHttp(chance: Random): HttpPlan {
  const some = <Name extends keyof HttpPlan>(name: Name, ...values: HttpPlan[Name][]): HttpPlan =>
    happens(chance, 0.4) ? { [name]: chance.pick(values) } : {}
  return {
    ...some('resume', false, { maxEvents: 5 }),
    ...some('streamAfter', 200, 1_000),
    ...some('retryInterval', 50, 5_000),
    ...some('maxStreamTime', 300, 5_000),
    ...some('commentInterval', 200, 60_000),
    ...some('maxRequestsPerClient', 12, 20),
  }
}

function drawClient(
  at: number,
  servers: readonly string[],
  chance: Random,
  only: ClientPlan['era'] | undefined,
): ClientPlan {
  const server = chance.pick(servers) as string
  const era = chance.pick(['handshake', 'handshake', 'auto', 'modern'] as const) ?? 'handshake'
  const kind = chance.pick(
    ['client', 'pool', 'fleet', 'task'] as const,
    (kind) => ({ client: 8, pool: 2, fleet: 1, task: 1 })[kind],
  ) as ClientPlan['kind']
  const maybe = <Name extends keyof ClientPlan>(name: Name, share: number, ...values: ClientPlan[Name][]) =>
    happens(chance, share) ? { [name]: chance.pick(values) } : {}
  return {
    name: `c${at + 1}`,
    address: `127.0.2.${at + 1}`,
    kind,
    server,
    ...(kind === 'fleet' && { servers }),
    ...(kind === 'pool' && { size: chance.between(1, 3) }),
    era: only ?? era,
    health: happens(chance, 0.5),
    ...maybe('retry', 0.2, ...retries),
    ...maybe('budget', 0.2, 5, 60),
    ...maybe('maxInFlight', 0.2, 1, 3),
    ...maybe('connections', 0.2, 1, 3),
  }
}

/** How calls may be made again. */
export const retries: readonly RetryPlan[] = [
  'safe',
  'never',
  { attempts: 3, safe: false },
  { attempts: 4, safe: true },
]
