import type { Verb } from '../history/history.js'
import { engineOf, type FaultPlan } from '../plan/plan.js'
import { goodDisk } from '../store/disk.js'
import { type Cut, type FakeEngine, goodEngine, wholeWay } from '../store/engine.js'
import type { IssuerHost } from '../auth/issuer-host.js'
import type { ClientHost } from './client-host.js'
import type { ServerHost } from './server-host.js'
import type { Stage } from './stage.js'
import { processesOf } from './watching.js'

/** ms until a program that has ended by itself is started again. */
const startTime = 1_000

export interface Cast {
  readonly servers: ReadonlyMap<string, ServerHost>
  readonly clients: ReadonlyMap<string, ClientHost>
  readonly issuers: ReadonlyMap<string, IssuerHost>
}

/** Breaks what the plan says, and has it whole again after its time. The answer makes it whole at once. */
export function breakIt(stage: Stage, cast: Cast, fault: FaultPlan): () => void {
  const { simulator, recorder } = stage
  const heal = begin(stage, cast, fault)
  if (heal === undefined) return () => {}
  const { verb, target, other, lasts } = fault
  const place = other === undefined ? target : `${target}>${other}`
  const [begins, ends] = names[verb]
  recorder.add({ type: 'fault', verb: begins, target: place })
  let isWhole = false
  const mend = (): void => {
    if (isWhole) return
    isWhole = true
    timer.cancelled = true
    if (ends === undefined) simulator.note('elsewhere', `${verb} ${place} is over`)
    else recorder.add({ type: 'fault', verb: ends, target: place })
    heal()
  }
  const timer = simulator.after(lasts, simulator.elsewhere, `end of fault ${fault.id}`, mend)
  return mend
}

/** What the history calls it, and its end. */
const names: Readonly<Record<FaultPlan['verb'], readonly [Verb, Verb?]>> = {
  kill: ['kill', 'start'],
  power: ['kill', 'start'],
  freeze: ['freeze', 'thaw'],
  jump: ['jump'],
  upgrade: ['upgrade'],
  crash: ['crash'],
  refuse: ['refuse', 'heal'],
  sip: ['sip', 'heal'],
  cut: ['cut', 'heal'],
  oneWayCut: ['oneWayCut', 'heal'],
  reset: ['reset'],
  snip: ['snip', 'heal'],
  slow: ['slow', 'heal'],
  delay: ['slow', 'heal'],
  loss: ['slow', 'heal'],
  fail: ['fail', 'repair'],
  lose: ['lose', 'repair'],
  lag: ['lag', 'repair'],
  away: ['kill', 'start'],
  tardy: ['lag', 'repair'],
  stall: ['freeze', 'thaw'],
  failOver: ['lose', 'repair'],
  wipe: ['forget'],
  untold: ['lose', 'repair'],
  mute: ['lose', 'repair'],
  part: ['cut', 'heal'],
  rotate: ['rotate'],
  revoke: ['revoke'],
}

/** Undefined where nothing is there that could break. */
function begin(stage: Stage, cast: Cast, fault: FaultPlan): (() => void) | undefined {
  const { servers, issuers } = cast
  const { verb, target, amount = 0 } = fault
  const host = hostOf(cast, target)
  const program = host?.program
  switch (verb) {
    case 'kill':
    case 'power':
      if (host === undefined || program === undefined || program.phase === 'dead') return undefined
      host.kill(verb === 'power')
      return () => host.start()
    case 'upgrade': {
      const server = servers.get(target)
      if (server?.isUp !== true) return undefined
      const stopped = server.stop()
      return () => void stopped.then(() => server.start())
    }
    case 'freeze':
      if (program?.phase !== 'running') return undefined
      program.freeze()
      return () => program.thaw()
    case 'jump':
      if (program?.phase !== 'running') return undefined
      program.jump(amount)
      // tokens are good by the clocks of all: somebody sets it right again
      return issuers.size === 0 ? () => {} : () => program.jump(-amount)
    case 'rotate':
      issuers.get(target)?.rotate()
      return () => {}
    case 'revoke':
      issuers.get(target)?.issuer.revoke(fault.other ?? '')
      stage.recorder.add({ type: 'revoked', program: target, principal: fault.other ?? '' })
      return () => {}
    case 'crash':
      return crash(stage, servers.get(target) ?? cast.clients.get(target), fault)
    case 'fail':
    case 'lose':
    case 'lag':
      return spoil(stage, verb)
    default: {
      const engine = engineAt(stage, fault.other ?? target)
      return engine === undefined ? breakNetwork(stage, cast, fault) : breakEngine(engine, fault)
    }
  }
}

function engineAt({ engines }: Stage, name: string): FakeEngine | undefined {
  for (const [server, engine] of engines) if (engineOf(server) === name) return engine
  return undefined
}

const parts: readonly (readonly Cut[])[] = [wholeWay, ['commands'], ['answers'], ['bells']]

/** Undefined where something else has happened to it already. */
function breakEngine(engine: FakeEngine, { verb, target, amount = 0 }: FaultPlan): (() => void) | undefined {
  const spoilt = (quality: Partial<typeof goodEngine>): (() => void) => {
    engine.quality = { ...goodEngine, ...quality }
    return () => {
      engine.quality = goodEngine
    }
  }
  switch (verb) {
    case 'away':
      if (engine.phase !== 'up') return undefined
      engine.stop()
      return () => engine.start()
    case 'stall':
      if (engine.phase !== 'up') return undefined
      engine.freeze()
      return () => engine.thaw()
    case 'failOver':
      if (engine.phase !== 'up') return undefined
      engine.fallBehind()
      return () => engine.failOver()
    case 'wipe':
      if (engine.phase !== 'up') return undefined
      engine.wipe()
      return () => {}
    case 'tardy':
      return spoilt({ delay: [50, 700] })
    case 'untold':
      return spoilt({ loses: 0.05 })
    case 'mute':
      return spoilt({ losesBells: 0.7, ringsInVain: 0.2 })
    default:
      engine.cut(target, parts[amount])
      return () => engine.heal(target)
  }
}

function hostOf(
  { servers, clients, issuers }: Cast,
  name: string,
): ServerHost | ClientHost | IssuerHost | undefined {
  return servers.get(name) ?? clients.get(name) ?? issuers.get(name)
}

function breakNetwork({ network }: Stage, cast: Cast, fault: FaultPlan): () => void {
  const { verb, target, other = '', amount } = fault
  const addressOf = (name: string): string => hostOf(cast, name)?.plan.address ?? ''
  const [here, there] = [addressOf(target), addressOf(other)]
  switch (verb) {
    case 'refuse':
      network.refuse(here, true)
      return () => network.refuse(here, false)
    case 'sip':
      network.setAppetite(here, amount)
      return () => network.setAppetite(here, undefined)
    case 'cut':
      network.cut(here, there)
      network.cut(there, here)
      return () => {
        network.heal(here, there)
        network.heal(there, here)
      }
    case 'oneWayCut':
      network.cut(here, there)
      return () => network.heal(here, there)
    case 'reset':
      network.reset(here, there)
      return () => {}
    case 'snip':
      network.snip(here, there, amount)
      return () => network.snip(here, there, undefined)
    case 'delay':
      network.setQuality(here, there, { delay: [100, 4_000] })
      return () => network.setQuality(here, there, {})
    case 'loss':
      network.setQuality(here, there, { loss: 0.4 })
      return () => network.setQuality(here, there, {})
    default:
      network.setQuality(here, there, { delay: [20, 400], loss: 0.05, rate: 5 })
      return () => network.setQuality(here, there, {})
  }
}

function spoil({ disk }: Stage, verb: 'fail' | 'lose' | 'lag'): () => void {
  const slow = { ...goodDisk, delay: [1, 200] as const }
  if (verb === 'lag') disk.quality = { ...goodDisk, delay: [500, 5_000] }
  else disk.quality = verb === 'fail' ? { ...slow, fails: 0.3 } : { ...slow, loses: 0.3 }
  return () => {
    disk.quality = goodDisk
  }
}

/**
 * Kills one process of the tree, again and again if the plan wants it; a program whose tree ends by that ends,
 * and is started again.
 */
function crash(
  { simulator, watched }: Stage,
  host: ServerHost | ClientHost | undefined,
  { amount = 0, times = 1, lasts }: FaultPlan,
): (() => void) | undefined {
  const root = host?.root
  if (host === undefined || root === undefined) return undefined
  const { program } = host
  const isThere = (): boolean => host.program === program && program?.phase !== 'dead' && !host.isClosing
  let left = times
  const strike = (): void => {
    if (left === 0 || !isThere() || program?.phase === 'frozen' || !root.alive) return
    left -= 1
    // whoever kills the hooks' own process has no `terminate` of what has begun
    const all = processesOf(root).filter(({ kind, name }) => kind !== 'actor' || name !== 'hooks')
    const victim = all[amount % all.length]
    simulator.note('elsewhere', `kills ${victim?.kind} ${victim?.name}`)
    program?.enter(() => victim?.ref.kill())
    simulator.after(lasts / times, simulator.elsewhere, 'crashes again', strike)
  }
  // one watch for all that strikes this tree: each would stay in its tables
  if (!watched.has(root)) {
    watched.add(root)
    root.onExit(() => {
      simulator.after(startTime, simulator.elsewhere, `starts ${host.plan.name} again`, () => {
        if (!isThere()) return
        host.kill(false)
        host.start()
      })
    })
  }
  strike()
  return () => {
    left = 0
  }
}
