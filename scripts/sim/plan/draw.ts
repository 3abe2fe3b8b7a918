import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import { drawActs } from './draw-acts.js'
import { drawCast } from './draw-cast.js'
import { withTokens } from './draw-auth.js'
import type { ClientPlan, FaultPlan, FaultVerb, Plan, ServerPlan } from './plan.js'

/** Draws what is to happen for a seed. Each part has chance of its own. */
export function drawPlan(seed: number, operations: number): Plan {
  const shape = chanceOf(seed, 'shape')
  const store = happens(shape, 0.6) ? 'durable' : 'memory'
  const length = operations * shape.between(20, 200)
  const { servers, clients } = drawCast(seed)
  const acts = drawActs(seed, operations, length, clients)
  return withTokens({
    seed,
    length,
    store,
    issuers: [],
    servers,
    clients,
    acts,
    faults: drawFaults(chanceOf(seed, 'faults'), { length, store, servers, clients, acts }),
    intrusions: [],
  })
}

type Stage = Pick<Plan, 'length' | 'store' | 'servers' | 'clients' | 'acts'>

function drawFaults(chance: Random, stage: Stage): readonly FaultPlan[] {
  const { length, store, servers, clients } = stage
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
    const base = { id: index + 1, at: drawMoment(chance, stage), verb }
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
  return faults
    .flatMap((fault) => [fault, ...drawEchoes(chance, fault)])
    .map((fault, index) => ({ ...fault, id: index + 1, at: Math.min(fault.at, length - 1) }))
    .sort((a, b) => a.at - b.at)
}

/** Half of them come while a call is on its way, at work or being saved. */
function drawMoment(chance: Random, { length, acts }: Stage): number {
  const act = happens(chance, 0.5) ? chance.pick(acts) : undefined
  return act === undefined ? chance.next() * length : act.at + 10 ** (3 * chance.next() - 1)
}

/** Some come several times in a row: what has just begun again breaks again. */
function drawEchoes(chance: Random, fault: FaultPlan): readonly FaultPlan[] {
  const echoes: FaultPlan[] = []
  const count = happens(chance, 0.15) ? chance.between(1, 5) : 0
  for (let { at } = fault; echoes.length < count; ) {
    at += 10 ** (1 + 2.5 * chance.next())
    echoes.push({ ...fault, at })
  }
  return echoes
}
