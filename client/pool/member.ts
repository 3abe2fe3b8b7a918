import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Client } from '../handle/client.js'
import type { ClientSettings } from '../options/options.js'
import { Setbacks } from '../base/backoff.js'
import type { ClientState } from '../base/state.js'

/**
 * The state of a member.
 * - `ready`: it serves calls; `connecting`: it has no connection yet.
 * - `unhealthy`: it does not answer pings; `down`: it waits to be started again.
 * - `checked_out`: one caller has it alone; `leaving`: it finishes its calls before it is removed.
 */
export type MemberStatus = 'ready' | 'connecting' | 'unhealthy' | 'down' | 'checked_out' | 'leaving'

/**
 * What happens to members.
 * - `ready`, `lost`: it has a connection; it has lost it.
 * - `unhealthy`, `healthy`: it does not answer pings; it answers again.
 * - `failed`, `down`, `restarted`: its client will never be ready; it has ended; it was started again.
 * - `added`, `removed`: by `add()` and `remove()`; `expired`: its checkout took too long.
 */
export type PoolEventType =
  | 'ready'
  | 'lost'
  | 'unhealthy'
  | 'healthy'
  | 'failed'
  | 'down'
  | 'restarted'
  | 'added'
  | 'removed'
  | 'expired'

/** Something that happened to a member of a pool. */
export interface PoolEvent {
  readonly type: PoolEventType
  /** The name of the member. */
  readonly member: string
  /** Why, where something went wrong. */
  readonly reason: Error | undefined
}

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
  /** Pings in a row that it left unanswered. */
  readonly misses: number
}

/** Outlives its clients, and the pool's actor. */
export class PoolMember {
  readonly name: string
  readonly settings: ClientSettings
  readonly setbacks: Setbacks
  client: Client | undefined
  /** While it runs. */
  ref: ProcessRef | undefined
  pending = 0
  served = 0
  starts = 0
  misses = 0
  healthy = true
  /** A ping is under way. */
  asked = false
  /** Another ping is due meanwhile. */
  overdue = false
  /** One caller has it alone, or will once its other calls are done. */
  taken = false
  leaving = false
  /** Its last client failed for good; none has been ready since. */
  failed = false
  reason: Error | undefined

  constructor(settings: ClientSettings) {
    this.name = settings.name
    this.settings = settings
    this.setbacks = new Setbacks(settings.backoff)
  }

  /** Its client is connected and answers. */
  get fit(): boolean {
    return this.client?.state.phase === 'ready' && this.healthy
  }

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
