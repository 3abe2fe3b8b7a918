import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import type { Client } from '../handle/client.js'
import { callError } from '../base/errors.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'

/** What a lease is made of. */
export interface LeaseParts {
  readonly desk: PoolDesk
  readonly member: PoolMember
  readonly client: Client
  readonly exclusive: boolean
  /** Milliseconds after which the member is taken back; Infinity: never. */
  readonly maxLease: number
}

/**
 * A member that was checked out; `using lease = await pool.checkout()` gives it back at the end of the block.
 */
export class Lease implements Disposable {
  readonly #desk: PoolDesk
  readonly #member: PoolMember
  readonly #client: Client
  /** Whether nobody else uses the member. */
  readonly exclusive: boolean
  readonly #stopClock: () => void
  #released = false

  constructor({ desk, member, client, exclusive, maxLease }: LeaseParts) {
    bindMethods(this, methods)
    this.#desk = desk
    this.#member = member
    this.exclusive = exclusive
    if (maxLease === Number.POSITIVE_INFINITY) {
      this.#client = client
      this.#stopClock = () => {}
      return
    }
    const gate = new AbortController()
    this.#client = client.lend(gate.signal)
    this.#stopClock = runClock(desk, maxLease, () => this.#expire(gate, maxLease))
  }

  /**
   * The client; without `maxLease` it stays usable after the release, so do not keep it. A member that is
   * started again meanwhile is another client.
   */
  get client(): Client {
    return this.#client
  }

  /** The name of the member. */
  get member(): string {
    return this.#member.name
  }

  /** Gives the member back; does nothing when called again, or when it was taken back. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#stopClock()
    this.#desk.giveBack(this.#member, this.exclusive)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  #expire(gate: AbortController, maxLease: number): void {
    if (this.#released) return
    const message = `the lease of ${this.member} has ended: it was not released within ${maxLease} ms`
    const reason = callError('LEASE_EXPIRED', message, { sent: false, retryable: false })
    // Before anybody else is given the member: what the holder had in flight is told to the server as
    // cancelled.
    gate.abort(reason)
    this.#desk.tell('expired', this.#member, reason)
    this.release()
  }
}

const methods = methodNames(Lease)

/**
 * Calls `fn` after `ms`, unless the returned function is called before, or the pool ends: then nobody is
 * given the member any more.
 */
function runClock(desk: PoolDesk, ms: number, fn: () => void): () => void {
  const timer = desk.clock.setTimeout(() => {
    unlook()
    fn()
  }, ms)
  const unlook = desk.lookUntil(() => {
    if (desk.over === undefined) return false
    desk.clock.clearTimeout(timer)
    return true
  })
  return () => {
    desk.clock.clearTimeout(timer)
    unlook()
  }
}
