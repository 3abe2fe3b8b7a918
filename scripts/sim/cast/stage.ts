import type { ProcessRef } from '../../../runtime/process/ref.js'
import type { Recorder } from '../history/history.js'
import type { Network } from '../network/network.js'
import type { Plan } from '../plan/plan.js'
import type { Vaults } from '../auth/identity.js'
import type { Disk } from '../store/disk.js'
import type { FakeEngine } from '../store/engine.js'
import type { Simulator } from '../world/simulator.js'
import type { Tables } from '../world/tables.js'
import type { Watched } from './watching.js'

/** What all parts of one run share. */
export interface Stage {
  readonly plan: Plan
  readonly simulator: Simulator
  readonly network: Network
  readonly recorder: Recorder
  readonly disk: Disk
  /** Of servers that are clusters, by the name of the server. */
  readonly engines: ReadonlyMap<string, FakeEngine>
  readonly vaults: Vaults
  readonly tables: Tables
  /** Sessions that somebody has asked to end. */
  readonly farewells: Set<string>
  /** Trees whose end has their programs started again. */
  readonly watched: WeakSet<ProcessRef>
  /** Every machine adds itself, by its name. */
  readonly hosts: Map<string, Watched>
  /** What must never happen to the simulation itself, or to a start. */
  readonly broken: (what: string, error?: unknown) => void
}
