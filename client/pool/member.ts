import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Client } from '../handle/client.js'
import type { MemberPlan } from './options.js'
import { Setbacks } from '../base/backoff.js'
import type { ClientState } from '../base/state.js'

/**
 * What a member does: it serves calls (`ready`), is on its way to (`connecting`), does not answer
 * (`unhealthy`), waits to be started again (`down`), belongs to one caller alone (`checked_out`), or finishes
 * what it began before it is removed (`leaving`).
 */
export type MemberStatus = 'ready' | 'connecting' | 'unhealthy' | 'down' | 'checked_out' | 'leaving'

/** A member of a pool, as a snapshot. */
export interface MemberSnapshot {
  readonly name: string
  readonly status: MemberStatus
  /** The state of its client; undefined while there is none. */
  readonly state: ClientState | undefined
  /** Calls under way, checkouts included. */
  readonly pending: number
  /** Calls and checkouts that it was given so far. */
  readonly served: number
  /** How often its client was started again. */
  readonly restarts: number
  /** Questions for a sign of life, in a row, that it left unanswered. */
  readonly misses: number
}

/** A place in a pool: it outlives the clients that fill it, and the actor that looks after them. */
export class PoolMember {
  readonly name: string
  readonly plan: MemberPlan
  readonly setbacks: Setbacks
  client: Client | undefined
  /** The tree of the client, while it runs. */
  ref: ProcessRef | undefined
  pending = 0
  served = 0
  starts = 0
  misses = 0
  healthy = true
  /** A question for a sign of life is under way. */
  asked = false
  /** The time for the next one came meanwhile. */
  overdue = false
  /** It belongs to one caller alone, or will as soon as nobody else uses it. */
  taken = false
  leaving = false
  /** Its client never will be ready, and the next one has yet to show that it can. */
  hopeless = false
  /** Why it never will be ready, or is down. */
  reason: Error | undefined

  constructor(plan: MemberPlan) {
    this.name = plan.options.name
    this.plan = plan
    this.setbacks = new Setbacks(plan.settings.backoff)
  }

  /** Whether its client has a connection and answers. */
  get fit(): boolean {
    return this.client?.state.phase === 'ready' && this.healthy
  }

  /** Whether it may be given calls. */
  get free(): boolean {
    return this.fit && !this.taken && !this.leaving
  }

  get status(): MemberStatus {
    if (this.leaving) return 'leaving'
    if (this.client === undefined) return 'down'
    if (!this.healthy) return 'unhealthy'
    if (!this.fit) return 'connecting'
    return this.taken ? 'checked_out' : 'ready'
  }

  snapshot(): MemberSnapshot {
    const { name, status, client, pending, served, starts, misses } = this
    return Object.freeze({
      name,
      status,
      state: client?.state,
      pending,
      served,
      restarts: Math.max(0, starts - 1),
      misses,
    })
  }
}
