import { allRevisions } from '../../../protocol/index.js'
import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import type { Focus } from './focus.js'
import type { ClientPlan, HttpPlan, Plan, RetryPlan, ServerPlan } from './plan.js'

/** Those in which a server may ask whatever it asks. */
const sessionRevisions = allRevisions.filter((revision) => revision < '2026')
const newest = '2026-07-28'

/** Draws who is there: servers, and clients of all kinds. */
export function drawCast(seed: number, { era }: Focus): Pick<Plan, 'servers' | 'clients'> {
  const chance = chanceOf(seed, 'cast')
  const names = Array.from({ length: chance.between(1, 2) }, (_, at) => `s${at + 1}`)
  const clients = Array.from({ length: chance.between(2, 4) }, (_, at) => drawClient(at, names, chance, era))
  const servers = names.map((name, at) => drawServer(at, clientsOf(name, clients), chance))
  return { servers: servers.map((server) => drawHibernation(server, seed)), clients }
}

/** Of half of the servers sessions hibernate soon, so that they do it often, and of the others never. */
function drawHibernation({ timeouts, ...server }: ServerPlan, seed: number): ServerPlan {
  const chance = chanceOf(seed, `sleep ${server.name}`)
  const never = Number.POSITIVE_INFINITY
  const hibernateAfter = happens(chance, 0.5) ? never : (chance.pick([100, 1_000, 5_000]) ?? never)
  return { ...server, timeouts: { ...timeouts, hibernateAfter } }
}

function clientsOf(server: string, clients: readonly ClientPlan[]): readonly ClientPlan[] {
  return clients.filter((client) => client.server === server || client.servers?.includes(server))
}

function drawServer(at: number, clients: readonly ClientPlan[], chance: Random): ServerPlan {
  const eras = new Set(clients.map(({ era }) => era))
  const sealed = happens(chance, 0.2)
  const parked = happens(chance, 0.2) ? 0 : (chance.pick([1, 2, 50]) ?? 50)
  const about = {
    name: `s${at + 1}`,
    address: `127.0.1.${at + 1}`,
    port: 3000,
    revisions: drawRevisions(eras, chance),
    sealed,
    keyed: happens(chance, 0.5),
    hooks: happens(chance, 0.3),
  }
  const usual = happens(chance, 0.5) ? {} : { parked }
  const { limits, timeouts } = happens(chance, 0.5) ? { limits: {}, timeouts: {} } : drawBounds(chance)
  return {
    ...about,
    limits: { ...usual, ...limits },
    timeouts,
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

function drawBounds(chance: Random): Pick<ServerPlan, 'limits' | 'timeouts'> {
  const some = <const Name extends string>(name: Name, ...values: number[]) =>
    (happens(chance, 0.4) ? { [name]: chance.pick(values) } : {}) as { readonly [Each in Name]?: number }
  const few = some('sessions', 12, 20)
  const idle = some('idle', 2_000, 10_000, 60_000)
  const most = {
    ...few,
    ...some('requests', 1, 2, 8),
    ...some('statelessRequests', 1, 3, 10),
    ...some('waiting', 1, 5, 100),
    ...some('subscriptions', 1, 4),
  }
  const timeouts = {
    ...idle,
    // sessions of clients that have died do not keep out the others for ever
    ...(few.sessions !== undefined && { idle: 10_000 }),
    ...some('request', 5_000, 30_000),
    ...some('question', 5_000, 30_000),
  }
  return { limits: { ...most, ...some('pageSize', 1, 3) }, timeouts }
}

function drawHttp(chance: Random): HttpPlan {
  const some = <const Name extends string, Value>(name: Name, ...values: Value[]) =>
    (happens(chance, 0.4) ? { [name]: chance.pick(values) } : {}) as { readonly [Each in Name]?: Value }
  const resumes: readonly (false | { readonly maxEvents: number })[] = [false, { maxEvents: 5 }]
  const streams = {
    ...some('resume', ...resumes),
    ...some('openAfter', 200, 1_000),
    ...some('retryInterval', 50, 5_000),
    ...some('endAfter', 300, 5_000),
    ...some('commentInterval', 200, 60_000),
  }
  return { streams, limits: some('requestsPerClient', 12, 20) }
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
