/** What is to happen in a run: plain data, drawn from a seed. */
export interface Plan {
  readonly seed: number
  /** Simulated ms in which acts and faults begin. */
  readonly length: number
  /** Whether sessions outlive the program that has them. */
  readonly store: 'memory' | 'durable'
  readonly servers: readonly ServerPlan[]
  readonly clients: readonly ClientPlan[]
  readonly acts: readonly Act[]
  readonly faults: readonly FaultPlan[]
}

export interface ServerPlan {
  readonly name: string
  readonly address: string
  readonly port: number
}

export interface ClientPlan {
  readonly name: string
  readonly address: string
  /** The server it calls. */
  readonly server: string
  readonly era: 'handshake' | 'auto' | 'modern'
  readonly health: boolean
}

/** A call that a client is asked to make. */
export interface Act {
  readonly id: number
  /** Simulated ms from the beginning. */
  readonly at: number
  readonly client: string
  readonly operation: ActKind
  /** ms. */
  readonly timeout: number
  /** ms until the caller gives it up. Default: never. */
  readonly patience?: number
}

export type ActKind = 'append' | 'read' | 'echo' | 'elicit' | 'slow' | 'hang' | 'list' | 'ping' | 'touch'

/** Something breaks, and after `lasts` ms it is whole again. */
export interface FaultPlan {
  readonly id: number
  readonly at: number
  readonly lasts: number
  readonly verb: FaultVerb
  /** A program; of a link one of its ends, of a store `store`. */
  readonly target: string
  /** The other end of a link. */
  readonly other?: string
  /** Of `jump`: ms. */
  readonly amount?: number
}

export type FaultVerb =
  | 'kill'
  | 'power'
  | 'freeze'
  | 'jump'
  | 'upgrade'
  | 'crash'
  | 'cut'
  | 'oneWayCut'
  | 'reset'
  | 'slow'
  | 'fail'
  | 'lose'

/** The plan with these of its faults and acts alone. */
export function only(plan: Plan, faults?: ReadonlySet<number>, acts?: ReadonlySet<number>): Plan {
  return {
    ...plan,
    faults: plan.faults.filter(({ id }) => faults === undefined || faults.has(id)),
    acts: plan.acts.filter(({ id }) => acts === undefined || acts.has(id)),
  }
}
