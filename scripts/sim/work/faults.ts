import type { Verb } from '../history/history.js'
import type { FaultPlan } from '../plan/plan.js'
import { goodDisk } from '../store/disk.js'
import type { IssuerHost } from '../auth/issuer-host.js'
import type { ClientHost } from './client-host.js'
import type { ServerHost } from './server-host.js'
import type { Stage } from './stage.js'

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
  recorder.add({ type: 'fault', verb: names[verb], target: place })
  let isWhole = false
  const mend = (): void => {
    if (isWhole) return
    isWhole = true
    timer.cancelled = true
    simulator.note('elsewhere', `${verb} ${place} is over`)
    heal()
  }
  const timer = simulator.after(lasts, simulator.elsewhere, `end of fault ${fault.id}`, mend)
  return mend
}

const names: Record<FaultPlan['verb'], Verb> = {
  kill: 'kill',
  power: 'kill',
  freeze: 'freeze',
  jump: 'jump',
  upgrade: 'upgrade',
  crash: 'crash',
  cut: 'cut',
  oneWayCut: 'oneWayCut',
  reset: 'reset',
  slow: 'slow',
  fail: 'fail',
  lose: 'lose',
  rotate: 'rotate',
  revoke: 'revoke',
}

/** Undefined where nothing is there that could break. */
function begin(
  stage: Stage,
  { servers, clients, issuers }: Cast,
  fault: FaultPlan,
): (() => void) | undefined {
  const { network, disk } = stage
  const { verb, target } = fault
  const hostOf = (name: string): ServerHost | ClientHost | IssuerHost | undefined =>
    servers.get(name) ?? clients.get(name) ?? issuers.get(name)
  const host = hostOf(target)
  const program = host?.program
  const addressOf = (name: string): string => hostOf(name)?.plan.address ?? ''
  const [here, there] = [addressOf(target), addressOf(fault.other ?? '')]
  switch (verb) {
    case 'kill':
    case 'power': {
      if (host === undefined || program === undefined || program.phase === 'dead') return undefined
      host.kill(verb === 'power')
      return () => host.start()
    }
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
      program.jump(fault.amount ?? 0)
      // tokens are good by the clocks of all: somebody sets it right again
      return issuers.size === 0 ? () => {} : () => program.jump(-(fault.amount ?? 0))
    case 'rotate':
      issuers.get(target)?.rotate()
      return () => {}
    case 'revoke':
      issuers.get(target)?.issuer.revoke(fault.other ?? '')
      return () => {}
    case 'crash': {
      const server = servers.get(target)
      if (server?.isUp !== true) return undefined
      const actor = ['base', 'transport', 'sessions', 'tasks', 'holdings'][fault.id % 5]
      server.program?.enter(() => server.server?.registry.whereis(`${target}/${actor}`)?.kill())
      return () => {}
    }
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
    case 'slow':
      network.setQuality(here, there, { delay: [20, 400], loss: 0.05, rate: 5 })
      return () => network.setQuality(here, there, {})
    case 'fail':
      disk.quality = { ...goodDisk, delay: [1, 200], fails: 0.3 }
      return () => {
        disk.quality = goodDisk
      }
    case 'lose':
      disk.quality = { ...goodDisk, delay: [1, 200], loses: 0.3 }
      return () => {
        disk.quality = goodDisk
      }
  }
}
