import type { Random } from '../../soak/random.js'
import { happens } from '../world/chance.js'
import type { Focus } from './focus.js'
import type { ClientPlan, FaultPlan, FaultVerb, Plan, ServerPlan } from './plan.js'

type Stage = Pick<Plan, 'length' | 'store' | 'servers' | 'clients' | 'acts'>

const ofPrograms: readonly FaultVerb[] = [
  'kill',
  'power',
  'freeze',
  'jump',
  'upgrade',
  'crash',
  'refuse',
  'sip',
]
const ofLinks: readonly FaultVerb[] = ['cut', 'oneWayCut', 'reset', 'snip', 'slow', 'delay', 'loss']
const ofStores: readonly FaultVerb[] = ['fail', 'lose', 'lag']
/** What only servers have. */
const ofServers: ReadonlySet<FaultVerb> = new Set(['upgrade', 'refuse'])

/** How faults come in a run. */
type Character = (chance: Random, stage: Stage, verbs: readonly FaultVerb[]) => Drawn[]

type Drawn = Omit<FaultPlan, 'id'>

/** Chance draws how a run is as a whole first: what is the same all over would never be far out. */
const characters: readonly (readonly [number, Character])[] = [
  [8, () => []],
  [12, (chance, stage, verbs) => draw(chance, stage, verbs, 1)],
  [30, (chance, stage, verbs) => draw(chance, stage, verbs, chance.between(2, 12))],
  [
    14,
    (chance, stage, verbs) => draw(chance, stage, [chance.pick(verbs) as FaultVerb], chance.between(3, 10)),
  ],
  [12, drawStorm],
  [12, drawAimed],
  [6, drawBeginning],
  [6, drawSwizzle],
]

export function drawFaults(chance: Random, stage: Stage, focus: Focus): readonly FaultPlan[] {
  const verbs = [...ofPrograms, ...ofLinks, ...(stage.store === 'durable' ? ofStores : [])]
  const [, any] = chance.pick(characters, ([weight]) => weight) ?? [0, () => []]
  const drawn = focus.verbs === undefined ? any(chance, stage, verbs) : drawShort(chance, stage, focus.verbs)
  return drawn
    .flatMap((fault) => [fault, ...drawEchoes(chance, fault)])
    .map((fault) => ({ ...fault, at: Math.min(fault.at, stage.length - 1) }))
    .sort((a, b) => a.at - b.at)
    .map((fault, index) => ({ ...fault, id: index + 1 }))
}

function draw(chance: Random, stage: Stage, verbs: readonly FaultVerb[], count: number): Drawn[] {
  return Array.from({ length: count }, () => drawOne(chance, stage, verbs))
}

/** Many at once, and calm before and after. */
function drawStorm(chance: Random, stage: Stage, verbs: readonly FaultVerb[]): Drawn[] {
  const begin = chance.next() * stage.length
  const width = 10 ** (1.5 + 2 * chance.next())
  return draw(chance, stage, verbs, chance.between(6, 24)).map((fault) => ({
    ...fault,
    at: Math.min(stage.length, begin + chance.next() * width),
    lasts: Math.min(fault.lasts, 10_000),
  }))
}

/** While a call is under way. */
function drawAimed(chance: Random, stage: Stage, verbs: readonly FaultVerb[]): Drawn[] {
  return draw(chance, stage, verbs, chance.between(2, 10)).map((fault) => {
    const act = chance.pick(stage.acts)
    if (act === undefined) return fault
    const client = stage.clients.find(({ name }) => name === act.client)
    const at = act.at + 10 ** (-1 + 2.2 * chance.next())
    return client === undefined
      ? { ...fault, at }
      : { ...fault, at, ...placeOf(chance, fault.verb, stage, client) }
  })
}

/** Many that are soon over: what one has begun, another one meets. */
function drawShort(chance: Random, stage: Stage, verbs: readonly FaultVerb[]): Drawn[] {
  const drawn = [...drawAimed(chance, stage, verbs), ...drawAimed(chance, stage, verbs)]
  return drawn.map((fault) => ({ ...fault, lasts: 10 ** (0.5 + 2.7 * chance.next()) }))
}

/** Before anybody is ready. */
function drawBeginning(chance: Random, stage: Stage, verbs: readonly FaultVerb[]): Drawn[] {
  return draw(chance, stage, verbs, chance.between(1, 5)).map((fault) => ({
    ...fault,
    at: chance.next() * 60,
  }))
}

/** Links are cut one after the other, and healed in another order. */
function drawSwizzle(chance: Random, stage: Stage): Drawn[] {
  const begin = chance.next() * stage.length * 0.7
  const width = 10 ** (2 + 2 * chance.next())
  return stage.clients.map((client) => {
    const [from, to] = [chance.next() * width, (1 + chance.next()) * width]
    const verb = happens(chance, 0.5) ? 'cut' : 'oneWayCut'
    return { verb, at: begin + from, lasts: to - from, ...placeOf(chance, verb, stage, client) }
  })
}

function drawOne(chance: Random, stage: Stage, verbs: readonly FaultVerb[]): Drawn {
  const verb = chance.pick(verbs) as FaultVerb
  const client = chance.pick(stage.clients) as ClientPlan
  const lasts = 10 ** (1 + 3.7 * chance.next())
  return {
    verb,
    at: drawMoment(chance, stage),
    lasts: ofStores.includes(verb) ? lasts / 4 : lasts,
    ...placeOf(chance, verb, stage, client),
    ...drawDetail(chance, verb),
  }
}

/** Half of them come while a call is on its way, at work or being saved. */
function drawMoment(chance: Random, { length, acts }: Stage): number {
  const act = happens(chance, 0.5) ? chance.pick(acts) : undefined
  return act === undefined ? chance.next() * length : act.at + 10 ** (3 * chance.next() - 1)
}

/** Some come several times in a row: what has just begun again breaks again. */
function drawEchoes(chance: Random, fault: Drawn): readonly Drawn[] {
  const echoes: Drawn[] = []
  const count = happens(chance, 0.1) ? chance.between(1, 5) : 0
  for (let { at } = fault; echoes.length < count; ) {
    at += 10 ** (1 + 2.5 * chance.next())
    echoes.push({ ...fault, at })
  }
  return echoes
}

type Place = Pick<FaultPlan, 'target' | 'other'>

function placeOf(chance: Random, verb: FaultVerb, { servers }: Stage, client: ClientPlan): Place {
  if (ofStores.includes(verb)) return { target: 'store' }
  const names = client.servers ?? [client.server]
  const server = chance.pick(names) ?? client.server
  if (ofLinks.includes(verb))
    return happens(chance, 0.5)
      ? { target: client.name, other: server }
      : { target: server, other: client.name }
  if (ofServers.has(verb) || happens(chance, 0.7)) return { target: server }
  return { target: happens(chance, 0.8) ? client.name : (chance.pick(servers) as ServerPlan).name }
}

function drawDetail(chance: Random, verb: FaultVerb): Pick<FaultPlan, 'amount' | 'times'> {
  switch (verb) {
    case 'jump':
      // often by a little more or less than limits of programs
      return { amount: Math.round((happens(chance, 0.5) ? 1 : -1) * 10 ** (2 + 5 * chance.next())) }
    case 'snip':
      return { amount: Math.round(10 ** (3.7 * chance.next())) }
    case 'sip':
      return { amount: 10 ** (-1 + 3 * chance.next()) }
    case 'crash':
      // more often than any supervisor allows
      return { amount: chance.between(0, 10_000), times: happens(chance, 0.2) ? chance.between(5, 20) : 1 }
    default:
      return {}
  }
}
