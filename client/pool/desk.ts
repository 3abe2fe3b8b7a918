import { messageOf } from '../../runtime/base/errors.js'
import type { World } from '../../runtime/time/world.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { Demand } from '../base/demand.js'
import { callError, type ClientError, givenUpError } from '../base/errors.js'
import { SharedSignals } from '../base/shared-signals.js'
import type { Undo } from '../base/state.js'
import { HandlerOwner, Watchers } from '../base/watchers.js'
import { type PoolEvent, type PoolEventType, PoolMember } from './member.js'
import type { PoolSettings } from './options.js'
import { Rotation } from './rotation.js'

interface Want {
  /** For errors: the method of a call, or `checkout`. */
  readonly what: string
  readonly exclusive: boolean
  /** Members that did not take the call: others go first. */
  readonly avoid?: ReadonlySet<PoolMember>
  /** In ms. */
  readonly timeout: number
  /** Default true. */
  readonly wait?: boolean
  readonly signal: AbortSignal | undefined
}

interface Waiter {
  readonly want: Want
  /** Reserved until its other calls are done. */
  reserved: PoolMember | undefined
  take(member: PoolMember): void
  fail(error: ClientError): void
}

/** Gives members to callers in order. No process: it works in the caller, and outlives the pool's actor. */
export class PoolDesk {
  readonly settings: PoolSettings
  readonly members = new Map<string, PoolMember>()
  readonly events: Watchers<[PoolEvent]>
  readonly world: World
  /** Callers that wait for members; shortens pauses. */
  readonly demand = new Demand()
  readonly #rotation: Rotation
  readonly #waiters = new Set<Waiter>()
  readonly #reservations = new Map<PoolMember, Waiter>()
  readonly #signals = new SharedSignals()
  readonly #watchers = new Set<() => void>()
  #lastNumber = 0
  /** Set by the current actor, which looks at all members when it starts. */
  newcomer: (member: PoolMember) => void = () => {}
  /** Set once all callers are refused. */
  over: ((what: string) => ClientError) | undefined

  constructor(settings: PoolSettings, world: World) {
    this.settings = settings
    this.world = world
    this.events = new Watchers(new HandlerOwner(settings.name, world))
    this.#rotation = new Rotation(settings.strategy, settings.random)
  }

  get free(): number {
    return this.#rotation.size
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Adds a member. Throws BAD_OPTION. */
  add(transport?: ClientTransport): PoolMember {
    const member = new PoolMember(this.settings.member(this.#lastNumber + 1, transport))
    this.#lastNumber += 1
    this.members.set(member.name, member)
    this.newcomer(member)
    return member
  }

  drop(member: PoolMember): void {
    this.members.delete(member.name)
    member.client = undefined
    this.update(member)
  }

  /** A member, to be given back. TIMEOUT, NOT_READY, QUEUE_FULL, CANCELLED, CLOSED or GAVE_UP. */
  take(want: Want): PoolMember | Promise<PoolMember> {
    if (this.over !== undefined) throw this.over(want.what)
    if (want.signal?.aborted === true) throw givenUpError(want.what, want.signal.reason)
    const member = this.#pick(want)
    if (member !== undefined && !(want.exclusive && member.pending > 0)) return this.#hand(member, want)
    const { what, wait } = want
    const { name, maxWaiting } = this.settings
    if (wait === false)
      throw this.#refusal('NOT_READY', what, `no member of ${name} is free (${this.describe()})`)
    if (this.waiting >= maxWaiting)
      throw this.#refusal('QUEUE_FULL', what, `${this.waiting} wait for a member of ${name} already`)
    return this.#wait(want, member)
  }

  giveBack(member: PoolMember, exclusive: boolean): void {
    member.pending -= 1
    if (exclusive) member.taken = false
    this.update(member)
  }

  /** A member has changed: serves callers that waited for that. */
  update(member: PoolMember): void {
    const waiter = this.#reservations.get(member)
    if (waiter !== undefined) this.#settleReserved(member, waiter)
    this.#rotation.update(member)
    this.#serve()
    for (const look of [...this.#watchers]) look()
  }

  tell(type: PoolEventType, member: PoolMember, reason?: Error): void {
    this.events.tell(Object.freeze({ type, member: member.name, reason }))
  }

  /** Calls `look` after every change, until the returned function is called. */
  watch(look: () => void): Undo {
    this.#watchers.add(look)
    return () => {
      this.#watchers.delete(look)
    }
  }

  end(error: (what: string) => ClientError): void {
    if (this.over !== undefined) return
    this.over = error
    for (const waiter of [...this.#waiters]) waiter.fail(error(waiter.want.what))
    for (const look of [...this.#watchers]) look()
    this.events.end()
  }

  /** For errors. */
  describe(): string {
    const all = [...this.members.values()].map(({ name, status, reason, client }) => {
      const why = reason ?? client?.state.reason
      return `${name} ${status}${why === undefined ? '' : `: ${messageOf(why)}`}`
    })
    return all.length === 0 ? 'it has no members' : all.join('; ')
  }

  /** A `reserved` member still has other calls. */
  #wait(want: Want, reserved: PoolMember | undefined): Promise<PoolMember> {
    const { what, timeout: ms, signal } = want
    const late = (): never => {
      const why = `no member of ${this.settings.name} was free within ${ms} ms (${this.describe()})`
      throw this.#refusal('TIMEOUT', what, why)
    }
    return waitWithin<PoolMember>({ clock: this.world, ms, late }, (take, fail) => {
      const waiter: Waiter = { want, reserved: undefined, take, fail }
      this.#waiters.add(waiter)
      if (reserved !== undefined) this.#reserve(reserved, waiter)
      const unlisten = signal && this.#signals.listen(signal, () => fail(givenUpError(what, signal.reason)))
      const done = this.demand.begin()
      return () => {
        this.#waiters.delete(waiter)
        unlisten?.()
        done()
        if (waiter.reserved !== undefined && this.over === undefined) this.#release(waiter.reserved)
      }
    })
  }

  #pick({ exclusive, avoid }: Want): PoolMember | undefined {
    return exclusive ? this.#rotation.pickLeastBusy() : this.#rotation.pick(avoid)
  }

  #serve(): void {
    for (const waiter of this.#waiters) {
      if (waiter.reserved !== undefined) continue
      const { want } = waiter
      const member = this.#pick(want)
      if (member === undefined) return
      if (want.exclusive && member.pending > 0) this.#reserve(member, waiter)
      else waiter.take(this.#hand(member, want))
    }
  }

  #hand(member: PoolMember, { exclusive }: Want): PoolMember {
    member.pending += 1
    member.served += 1
    if (!exclusive) return member
    member.taken = true
    this.#rotation.update(member)
    return member
  }

  /** No new calls: the waiter gets the member once its other calls are done. */
  #reserve(member: PoolMember, waiter: Waiter): void {
    member.taken = true
    waiter.reserved = member
    this.#reservations.set(member, waiter)
    this.#rotation.update(member)
  }

  #settleReserved(member: PoolMember, waiter: Waiter): void {
    const lost = !member.fit || member.leaving
    if (!lost && member.pending > 0) return
    this.#reservations.delete(member)
    waiter.reserved = undefined
    if (lost)
      member.taken = false // the waiter waits for another one
    else waiter.take(this.#hand(member, waiter.want))
  }

  /** The waiter of a reserved member gave up. */
  #release(member: PoolMember): void {
    this.#reservations.delete(member)
    member.taken = false
    this.update(member)
  }

  #refusal(code: 'NOT_READY' | 'TIMEOUT' | 'QUEUE_FULL', what: string, why: string): ClientError {
    return callError(code, `${what}: ${why}`, { sent: false })
  }
}
