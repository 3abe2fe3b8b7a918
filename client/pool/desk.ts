import type { Clock } from '../../runtime/time/clock.js'
import { messageOf } from '../../runtime/base/errors.js'
import { callError, type ClientError } from '../base/errors.js'
import type { PoolEvent, PoolEventType } from './events.js'
import { Demand } from '../base/demand.js'
import { PoolMember } from './member.js'
import type { PoolSettings } from './options.js'
import { cancelled, PoolQueue, type Waiter, type Want } from './queue.js'
import { Rotation } from './rotation.js'
import { HandlerOwner, Watchers } from '../base/watchers.js'

/**
 * Gives members to those who want one. It outlives the actor that looks after the members, and does nothing
 * by itself: all of it happens at once, in whoever calls.
 */
export class PoolDesk {
  readonly settings: PoolSettings
  readonly members = new Map<string, PoolMember>()
  readonly events: Watchers<[PoolEvent]>
  readonly clock: Clock
  /** Who waits for a member, or for members to be ready: they hurry as long. */
  readonly demand = new Demand()
  readonly #rotation: Rotation
  readonly #queue: PoolQueue
  /** Who gets a member alone that others still use. */
  readonly #heirs = new Map<PoolMember, Waiter>()
  /** Looked at after every change: who waits for something that is no member. */
  readonly #looks = new Set<() => void>()
  #lastNumber = 0
  /** Set by the actor that runs now: one that starts looks at all members. */
  newcomer: (member: PoolMember) => void = () => {}
  /** Why nobody is given a member any more. */
  over: ((what: string) => ClientError) | undefined

  constructor(settings: PoolSettings, clock: Clock) {
    this.settings = settings
    this.clock = clock
    this.events = new Watchers(new HandlerOwner(settings.name))
    this.#rotation = new Rotation(settings.strategy, settings.random)
    this.#queue = new PoolQueue(clock, this.demand)
  }

  /** Members that may be given calls now. */
  get free(): number {
    return this.#rotation.size
  }

  /** Those who wait for a member. */
  get waiting(): number {
    return this.#queue.size
  }

  /** Makes a place for one more member. Throws BAD_OPTION. */
  enrol(transport?: Parameters<PoolSettings['member']>[1]): PoolMember {
    const member = new PoolMember(this.settings.member(this.#lastNumber + 1, transport))
    this.#lastNumber += 1
    this.members.set(member.name, member)
    this.newcomer(member)
    return member
  }

  /** The member is gone for good. */
  strike(member: PoolMember): void {
    this.members.delete(member.name)
    member.client = undefined
    this.update(member)
  }

  /**
   * A member, at once or as soon as there is one; it has to be given back. Rejects, or throws, with TIMEOUT,
   * NOT_READY, QUEUE_FULL, CANCELLED, CLOSED or GAVE_UP.
   */
  take(want: Want): PoolMember | Promise<PoolMember> {
    if (this.over !== undefined) throw this.over(want.what)
    if (want.signal?.aborted === true) throw cancelled(want)
    const member = want.exclusive ? this.#rotation.pickLeastBusy() : this.#rotation.pick(want.avoid)
    if (member !== undefined && !(want.exclusive && member.pending > 0))
      return hand(member, want, this.#rotation)
    if (want.wait === false) throw this.#notFree(want)
    if (this.waiting >= this.settings.maxWaiting) throw this.#full(want)
    const { waiter, member: later } = this.#queue.wait(
      want,
      () => this.#late(want),
      (one) => this.#left(one),
    )
    if (member !== undefined) this.#keep(member, waiter)
    return later
  }

  /** Takes a member back. */
  giveBack(member: PoolMember, exclusive: boolean): void {
    member.pending -= 1
    if (exclusive) member.taken = false
    this.update(member)
  }

  /** Something about the member has changed: whoever waited for that goes on. */
  update(member: PoolMember): void {
    const heir = this.#heirs.get(member)
    if (heir !== undefined) this.#settleKept(member, heir)
    this.#rotation.update(member)
    this.#serve()
    for (const look of [...this.#looks]) look()
  }

  tell(type: PoolEventType, member: PoolMember, reason?: Error): void {
    this.events.tell(Object.freeze({ type, member: member.name, reason }))
  }

  /**
   * Calls `look` after every change, and once now, until it answers true or the returned function is called.
   */
  lookUntil(look: () => boolean): () => void {
    const again = (): void => {
      if (look()) this.#looks.delete(again)
    }
    this.#looks.add(again)
    again()
    return () => {
      this.#looks.delete(again)
    }
  }

  /** Nobody is given a member any more. */
  end(error: (what: string) => ClientError): void {
    if (this.over !== undefined) return
    this.over = error
    for (const waiter of this.#queue.all()) waiter.settle(error(waiter.want.what))
    for (const look of [...this.#looks]) look()
    this.events.end()
  }

  /** How the members are, for errors. */
  describe(): string {
    const all = [...this.members.values()].map(({ name, status, reason, client }) => {
      const why = reason ?? client?.state.reason
      return `${name} ${status}${why === undefined ? '' : `: ${messageOf(why)}`}`
    })
    return all.length === 0 ? 'it has no members' : all.join('; ')
  }

  #serve(): void {
    for (let waiter = this.#queue.first(); waiter !== undefined; waiter = this.#queue.first()) {
      const { want } = waiter
      const member = want.exclusive ? this.#rotation.pickLeastBusy() : this.#rotation.pick(want.avoid)
      if (member === undefined) return
      if (want.exclusive && member.pending > 0) this.#keep(member, waiter)
      else waiter.settle(hand(member, want, this.#rotation))
    }
  }

  /** Nobody new gets the member: whoever wants it alone gets it when the others are done. */
  #keep(member: PoolMember, waiter: Waiter): void {
    member.taken = true
    waiter.kept = member
    this.#heirs.set(member, waiter)
    this.#rotation.update(member)
  }

  #settleKept(member: PoolMember, heir: Waiter): void {
    const lost = !member.fit || member.leaving
    if (!lost && member.pending > 0) return
    this.#heirs.delete(member)
    if (!lost) return heir.settle(hand(member, heir.want, this.#rotation))
    // It waits for another one.
    heir.kept = undefined
    member.taken = false
  }

  #left({ kept }: Waiter): void {
    if (kept === undefined) return
    this.#heirs.delete(kept)
    kept.taken = false
    this.update(kept)
  }

  #notFree({ what }: Want): ClientError {
    const message = `${what}: no member of ${this.settings.name} is free (${this.describe()})`
    return callError('NOT_READY', message, { sent: false })
  }

  #late({ what, timeout }: Want): ClientError {
    const message = `${what}: no member of ${this.settings.name} was free within ${timeout} ms (${this.describe()})`
    return callError('TIMEOUT', message, { sent: false })
  }

  #full({ what }: Want): ClientError {
    return callError(
      'QUEUE_FULL',
      `${what}: ${this.waiting} wait for a member of ${this.settings.name} already`,
      {
        sent: false,
      },
    )
  }
}

function hand(member: PoolMember, { exclusive }: Want, rotation: Rotation): PoolMember {
  member.pending += 1
  member.served += 1
  if (!exclusive) return member
  member.taken = true
  rotation.update(member)
  return member
}
